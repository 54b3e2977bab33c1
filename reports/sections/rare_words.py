"""How well embeddings of words from form and contexts mimic those of an encoder. BERTRAM, arXiv 1910.07181."""

from collections.abc import Iterator

from reports.section import Section, one_table, shared, spread, where
from reports.statistics.results import Results
from reports.table import Column, Row, spread_columns
from steeplechase.configuration.measurements.rare_words import RARE_WORDS, RareWordsResult
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import finite

TITLE = "Embeddings of words left out, from form and contexts: R² and cosine"
DECIMALS = 3
MEASURES = {"explained_variance": "R²", "cosine": "cosine"}
COLUMNS = (
    *(shared("arm"), shared("variant"), shared("words", numeric=True)),
    *(Column(title, read=where("measure", measure, spread(DECIMALS))) for measure, title in MEASURES.items()),
)


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm, variant and measure, over the pretraining seeds."""
    labels = [label for label in map(StageLabel.parse, results.snapshot.labels) if label.kind == RARE_WORDS]
    for arm in results.arms:
        by_variant: dict[str, list[RareWordsResult]] = {str(label.task): [] for label in labels}
        for history in results.trials[arm.name]:
            for record, result in with_results(history.finished(RARE_WORDS), RareWordsResult):
                by_variant.setdefault(str(StageLabel.parse(record.label).task), []).append(result)
        for variant, found in by_variant.items():
            for measure in MEASURES:
                values = [value for each in found if (value := finite(getattr(each, measure))) is not None]
                if values:
                    named: Row = {"arm": arm.name, "variant": variant, "measure": measure, "words": found[0].held_out}
                    yield {**named, **spread_columns(values)}


SECTION = Section(RARE_WORDS, one_table(RARE_WORDS, _rows, TITLE, COLUMNS, by=("arm", "variant")))
