"""Perplexity per token and per word, and bits per character, of texts that no model was trained on.

A text that is read with several lengths of memory is a row for each: an arm's gain from a longer context (Dai et al.
2019, Transformer-XL, arXiv 1901.02860, Table 6).
"""

from collections.abc import Iterator

from reports.section import Section, one_table, shared, spread, where
from reports.statistics.results import Results
from reports.table import Column, Row, number, spread_columns
from steeplechase.configuration.measurements.perplexity import PERPLEXITY, PerplexityResult
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import finite

TITLE = "Language modelling on texts left out: perplexity and bits per character, lower is better"
UNITS = {
    "perplexity_per_token": "e to the loss in nats per token of the vocabulary",
    "perplexity_per_word": "e to the loss in nats per word of the text",
    "bits_per_character": "loss in bits per character of the text",
}
DECIMALS = 3
NOTE = (
    "Perplexity: e to the mean loss in nats per token, comparable for one vocabulary alone, or per word, ends of "
    "lines not counted. Bits per character: the loss over ln 2 per character, white space included. Unknown tokens "
    "lower all three; [CLS] and [SEP] are not predicted."
)
COLUMNS = (
    *(shared("arm"), shared("text")),
    Column("unknown tokens", read=lambda rows: f"{100 * (number(rows[0]['unknown_share']) or 0.0):.2f}%"),
    *(Column(each.replace("_", " "), read=where("measure", each, spread(DECIMALS))) for each in UNITS),
)


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm, text and measure with its unit, over the pretraining seeds."""
    for arm in results.arms:
        by_text: dict[str, list[PerplexityResult]] = {}
        for history in results.trials[arm.name]:
            for record, result in with_results(history.finished(PERPLEXITY), PerplexityResult):
                by_text.setdefault(str(StageLabel.parse(record.label).task), []).append(result)
        for text, found in sorted(by_text.items()):
            sizes: Row = {name: getattr(found[0], name) for name in ("tokens", "words", "characters")}
            share = found[0].unknown / found[0].tokens if found[0].tokens else 0.0
            for measure, unit in UNITS.items():
                values = [value for each in found if (value := finite(each.measures[measure])) is not None]
                named: Row = {"arm": arm.name, "text": text, "measure": measure, "unit": unit}
                if values:
                    yield {**named, **sizes, "unknown_share": share, **spread_columns(values)}


SECTION = Section(PERPLEXITY, one_table(PERPLEXITY, _rows, TITLE, COLUMNS, NOTE, by=("arm", "text")))
