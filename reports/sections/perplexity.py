"""Perplexity per token and per word, and bits per character, of texts that no model was trained on."""

from collections.abc import Iterator
from statistics import fmean, stdev

from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import UNKNOWN, fixed
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.memory_lengths import measured_perplexities
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.configuration.measurements import PERPLEXITY
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


def perplexity_table(results: Results) -> Table:
    """Return one row per arm, text and measure with its unit, over the pretraining seeds."""
    return table(PERPLEXITY, "arm text measure unit tokens words characters unknown_share n mean sd", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        by_text: dict[str, list[PerplexityResult]] = {}
        for _, text, result in measured_perplexities(results, arm.name):
            by_text.setdefault(text, []).append(result)
        for text, found in sorted(by_text.items()):
            yield from _rows_of_text(arm.name, text, found)


def _rows_of_text(arm: str, text: str, found: list[PerplexityResult]) -> Iterator[Row]:
    one = found[0]
    sizes = {"tokens": one.tokens, "words": one.words, "characters": one.characters}
    share = one.unknown / one.tokens if one.tokens else 0.0
    for measure, unit in UNITS.items():
        values = [value for each in found if (value := finite(each.measures[measure])) is not None]
        if values:
            sd = stdev(values) if len(values) > 1 else None
            spread = {"n": len(values), "mean": fmean(values), "sd": sd}
            yield {
                "arm": arm,
                "text": text,
                "measure": measure,
                "unit": unit,
                **sizes,
                "unknown_share": share,
                **spread,
            }


def _grids(found: Table) -> Iterator[Grid]:
    cells: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        share = f"{100 * (number(row['unknown_share']) or 0.0):.2f}%"
        cells.setdefault((str(row["arm"]), str(row["text"])), [share]).append(_text(row))
    if cells:
        columns = ["unknown tokens", "perplexity per token", "perplexity per word", "bits per character"]
        made = grid(
            PERPLEXITY,
            TITLE,
            [Column("arm", numeric=False), Column("text", numeric=False), *map(Column, columns)],
            [[*place, *values] for place, values in cells.items()],
        )
        yield with_notes(made, [NOTE])


def _text(row: Row) -> str:
    mean, sd = number(row["mean"]), number(row["sd"])
    return f"{fixed(mean or 0.0, DECIMALS)} ± {UNKNOWN if sd is None else fixed(sd, DECIMALS)} ({row['n']})"


def _content(evidence: Evidence) -> Content:
    found = perplexity_table(evidence.results)
    return Content(with_rows(found), tuple(_grids(found)))


SECTION = Section(PERPLEXITY, _content)
