"""Perplexity per token and per word, and bits per character, of texts that no model was trained on.

A text that is read with several lengths of memory is a row for each: an arm's gain from a longer context (Dai et al.
2019, Transformer-XL, arXiv 1901.02860, Table 6).
"""

from collections.abc import Callable, Iterator

from reports.columns import spread
from reports.grid import Column, shown, words
from reports.number_format import NOTHING
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, spread_columns
from steeplechase.configuration.measurements import PERPLEXITY
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import PerplexityResult, finite

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


def measured_perplexities(results: Results, arm: str) -> Iterator[tuple[int, str, PerplexityResult]]:
    """Yield pretraining seed, name of the text and result of every measured perplexity of an arm."""
    for history in results.trials[arm]:
        for record, result in with_results(history.finished(PERPLEXITY), PerplexityResult):
            yield history.trial.seed, str(StageLabel.parse(record.label).task), result


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm, text and measure with its unit, over the pretraining seeds."""
    for arm in results.arms:
        by_text: dict[str, list[PerplexityResult]] = {}
        for _, text, result in measured_perplexities(results, arm.name):
            by_text.setdefault(text, []).append(result)
        for text, found in sorted(by_text.items()):
            yield from ({"arm": arm.name, "text": text, **row} for row in _rows_of_text(found))


def _rows_of_text(found: list[PerplexityResult]) -> Iterator[Row]:
    one = found[0]
    sizes = {"tokens": one.tokens, "words": one.words, "characters": one.characters}
    share = one.unknown / one.tokens if one.tokens else 0.0
    for measure, unit in UNITS.items():
        values = [value for each in found if (value := finite(each.measures[measure])) is not None]
        if values:
            yield {"measure": measure, "unit": unit, **sizes, "unknown_share": share, **spread_columns(values)}


def _of_measure(measure: str) -> Callable[[list[Row]], str]:
    read = spread(DECIMALS)
    return lambda rows: next((read(row) for row in rows if row["measure"] == measure), NOTHING)


def _content(evidence: Evidence) -> Content:
    found = Table.of(PERPLEXITY, _rows(evidence.results))
    by_text: dict[tuple[object, object], list[Row]] = {}
    for row in found.rows:
        by_text.setdefault((row["arm"], row["text"]), []).append(row)
    unknown = Column("unknown tokens", read=lambda rows: f"{100 * (number(rows[0]['unknown_share']) or 0.0):.2f}%")
    columns = [
        *(words("arm", lambda rows: str(rows[0]["arm"])), words("text", lambda rows: str(rows[0]["text"])), unknown),
        *(Column(measure.replace("_", " "), read=_of_measure(measure)) for measure in UNITS),
    ]
    return Content(found.filled, shown(PERPLEXITY, TITLE, columns, by_text.values(), [NOTE]))


SECTION: Section[Evidence] = Section(PERPLEXITY, _content)
