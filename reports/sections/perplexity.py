"""Perplexity per token and per word, and bits per character, of texts that no model was trained on.

The figure has the perplexity of one text by the tokens of memory with which it is read: an arm's gain from a longer
context. Dai et al. 2019, Transformer-XL, arXiv 1901.02860, Table 6; lengths at evaluation exceed those of training.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

from reports.columns import spread
from reports.figures.figure import ReportFigure
from reports.figures.named_lines import LinePanel, NamedLine, Point
from reports.figures.style import COLOURS
from reports.grid import Column, shown, words
from reports.number_format import NOTHING
from reports.sanitise import printable
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, spread_columns
from steeplechase.analysis.difference import CONFIDENCE
from steeplechase.analysis.paired import interval
from steeplechase.configuration.measurements import PERPLEXITY, MeasuredText
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import ArmRow, with_results
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
FEWEST_LENGTHS = 2
MEASURE = "perplexity_per_token"


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


@dataclass(frozen=True)
class MemoryPoint:
    """The perplexity of an arm with one length of memory, over the pretraining seeds."""

    memory: int
    values: tuple[float, ...]
    """By seed, without values that are not finite."""

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return fmean(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of the mean by Student's t; None for a single seed."""
        return interval(self.values, CONFIDENCE) if len(self.values) > 1 else None


@dataclass(frozen=True)
class MemoryCurve:
    """The points of an arm by increasing memory."""

    arm: str
    trained_with: int
    """Tokens of memory in training."""
    points: tuple[MemoryPoint, ...]


@dataclass(frozen=True)
class MemoryLengths:
    """The curves of one text, of all texts the one that is read with most lengths."""

    text: str
    """Name of the file."""
    curves: tuple[MemoryCurve, ...]


def memory_lengths_of(results: Results) -> MemoryLengths | None:
    """Return perplexities by memory; None unless an arm has a memory and a text is read with several lengths."""
    measured = results.experiment.measure.perplexity
    if measured is None:
        return None
    by_file: dict[tuple[str, str], dict[str, MeasuredText]] = {}
    for name, text in measured.texts.items():
        by_file.setdefault((text.path, text.layout), {})[name] = text
    (path, _), texts = max(by_file.items(), key=lambda entry: len({text.memory for text in entry[1].values()}))
    curves = tuple(curve for arm in results.arms if (curve := _curve(results, arm, texts)) is not None)
    several = any(len(curve.points) >= FEWEST_LENGTHS for curve in curves)
    return MemoryLengths(path.rpartition("/")[2], curves) if several else None


def _curve(results: Results, arm: ArmRow, texts: dict[str, MeasuredText]) -> MemoryCurve | None:
    trained_with = arm.candidate.architecture.memory
    values: dict[int, dict[int, float]] = {}
    """By memory and pretraining seed; texts with the same memory have the same value."""
    for seed, name, found in measured_perplexities(results, arm.name):
        text = texts.get(name)
        value = finite(found.measures[MEASURE])
        if text is not None and value is not None:
            read_with = text.memory if text.memory is not None and trained_with else trained_with
            values.setdefault(read_with, {})[seed] = value
    points = tuple(MemoryPoint(memory, tuple(values[memory].values())) for memory in sorted(values))
    return MemoryCurve(arm.name, trained_with, points) if points else None


def _memory_rows(lengths: MemoryLengths) -> Iterator[Row]:
    for curve in lengths.curves:
        for point in curve.points:
            low, high = point.interval or (None, None)
            of_arm: Row = {"arm": curve.arm, "trained_with": curve.trained_with, "memory": point.memory}
            yield {**of_arm, "n": len(point.values), "mean": point.mean, "low": low, "high": high}


def _panel(lengths: MemoryLengths) -> LinePanel:
    lines = [
        NamedLine(
            f"{printable(curve.arm)} (trained with {curve.trained_with:,})",
            [Point(point.memory, point.mean, *(point.interval or (None, None))) for point in curve.points],
        )
        for curve in lengths.curves[: len(COLOURS)]
    ]
    return LinePanel(
        lines=lines,
        title="perplexity per token, mean over seeds",
        spread=", 95% interval",
        label="tokens of memory at evaluation",
        scale={"value": "symlog", "linthresh": 1},  # one token, where the axis becomes linear down to no memory
        tick=lambda memory: f"{memory:,}",
    )


FIGURE = ReportFigure[Evidence, MemoryLengths](
    "perplexity_by_memory",
    lambda lengths: f"Perplexity of {printable(lengths.text)} by tokens of memory",
    lambda evidence: memory_lengths_of(evidence.results),
    lambda lengths: Table.of("perplexity_by_memory", _memory_rows(lengths)),
    lambda lengths: _panel(lengths).wide(),
    lambda lengths: _panel(lengths).narrow(),
)
SECTION: Section[Evidence] = Section(PERPLEXITY, _content, figure=FIGURE)
