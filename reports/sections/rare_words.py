"""How well embeddings of words from form and contexts mimic those of an encoder. BERTRAM, arXiv 1910.07181."""

from collections.abc import Callable, Iterator

from reports.columns import spread
from reports.grid import Column, shown, words
from reports.number_format import NOTHING
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, spread_columns
from steeplechase.configuration.measurements import RARE_WORDS
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import RareWordsResult, finite

TITLE = "Embeddings of words left out, from form and contexts: R² and cosine"
DECIMALS = 3
MEASURES = {"explained_variance": "R²", "cosine": "cosine"}


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm, variant and measure, over the pretraining seeds."""
    for arm in results.arms:
        by_variant: dict[str, list[RareWordsResult]] = {}
        for history in results.trials[arm.name]:
            for record, result in with_results(history.finished(RARE_WORDS), RareWordsResult):
                by_variant.setdefault(_variant(record.label), []).append(result)
        for variant in dict.fromkeys(map(_variant, results.snapshot.labels)):
            found = by_variant.get(variant, [])
            for measure in MEASURES:
                values = [value for each in found if (value := finite(getattr(each, measure))) is not None]
                if values:
                    named: Row = {"arm": arm.name, "variant": variant, "measure": measure, "words": found[0].held_out}
                    yield {**named, **spread_columns(values)}


def _variant(label: str) -> str:
    parsed = StageLabel.parse(label)
    return str(parsed.task) if parsed.kind == RARE_WORDS else ""


def _of_measure(measure: str) -> Callable[[list[Row]], str]:
    read = spread(DECIMALS)
    return lambda rows: next((read(row) for row in rows if row["measure"] == measure), NOTHING)


def _content(evidence: Evidence) -> Content:
    found = Table.of(RARE_WORDS, _rows(evidence.results))
    by_variant: dict[tuple[object, object], list[Row]] = {}
    for row in found.rows:
        by_variant.setdefault((row["arm"], row["variant"]), []).append(row)
    columns = [
        *(words("arm", lambda rows: str(rows[0]["arm"])), words("variant", lambda rows: str(rows[0]["variant"]))),
        Column("words", read=lambda rows: str(rows[0]["words"])),
        *(Column(title, read=_of_measure(measure)) for measure, title in MEASURES.items()),
    ]
    return Content(found.filled, shown(RARE_WORDS, TITLE, columns, by_variant.values()))


SECTION = Section("rare_words", _content)
