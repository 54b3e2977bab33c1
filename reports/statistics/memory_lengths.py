"""Perplexity of one text by the tokens of memory with which it is read: an arm's gain from a longer context.

Source: Dai et al. 2019, Transformer-XL, arXiv 1901.02860, Table 6; lengths at evaluation exceed those of training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from reports.statistics.results import Results
from steeplechase.analysis.difference import CONFIDENCE
from steeplechase.analysis.paired import interval
from steeplechase.configuration.measurements import PERPLEXITY, MeasuredText
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import ArmRow, with_results
from steeplechase.ledger.stage_results import PerplexityResult, finite

FEWEST_LENGTHS = 2
MEASURE = "perplexity_per_token"


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


def measured_perplexities(results: Results, arm: str) -> Iterator[tuple[int, str, PerplexityResult]]:
    """Yield pretraining seed, name of the text and result of every measured perplexity of an arm."""
    for history in results.trials[arm]:
        for record, result in with_results(history.finished(PERPLEXITY), PerplexityResult):
            yield history.trial.seed, str(StageLabel.parse(record.label).task), result
