"""Latencies from raw seconds: per length and arm, the time, and the paired ratio to the baseline. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from analysis.bootstrap import Estimate, median, median_ratio
from configuration.latency import LatencyExperiment, part_flops
from ledger.records import with_results
from ledger.snapshot import Snapshot
from ledger.stage_results import LatencyResult, Machine
from reports.statistics.experiment import document_as
from reports.table import Row, Table, table

RESULT_COLUMNS = "arm length n milliseconds low high times_as_fast times_low times_high flops flops_ratio"
MILLISECOND = 1e3


@dataclass(frozen=True)
class ArmLatency:
    """One arm at one length."""

    arm: str
    length: int
    flops: int
    """Of one sequence."""
    flops_ratio: float
    """To the baseline's."""
    seconds: Estimate
    """Of one sequence."""
    speedup: Estimate
    """How many times as fast as the baseline: the median of the ratios within each round."""


@dataclass(frozen=True)
class LatencyEvidence:
    """The one thing that tables, the figure and the finding read their numbers from."""

    experiment: LatencyExperiment
    measured: tuple[LatencyResult, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """Names, the baseline first."""
        return self.measured[0].arms if self.measured else tuple(arm.name for arm in self.experiment.candidates)

    @property
    def machine(self) -> Machine | None:
        """The machine that the times were taken on, None where there are none."""
        return self.measured[0].machine if self.measured else None

    @cached_property
    def timed(self) -> tuple[ArmLatency, ...]:
        """What has been timed, by length and then in the order of the arms."""
        return tuple(self._timed())

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths that have been timed, the shortest first."""
        return tuple(sorted(self._by_length))

    @property
    def controls(self) -> tuple[str, ...]:
        """Arms that are the baseline under another name: their differences are noise."""
        baseline = self.experiment.architecture_of(self.experiment.baseline)
        return tuple(arm for arm in self.arms[1:] if self.experiment.architecture_of(arm) == baseline)

    @cached_property
    def noise(self) -> float:
        """The largest factor by which a control's interval leaves 1 at any length; 1 where there is no control.

        A bootstrap over rounds does not see what stays the same in all of them, such as where weights lie in memory.
        """
        found = [each.speedup for each in self.timed if each.arm in self.controls]
        return max((max(each.high or 1.0, 1 / (each.low or 1.0)) for each in found), default=1.0)

    def significance(self, speedup: Estimate, ratios: int = 1) -> int:
        """Return 1 for faster, -1 for slower, 0 where the noise of so many ratios could be all there is."""
        return speedup.beyond(self.noise**ratios)

    def of_arm(self, arm: str) -> tuple[ArmLatency, ...]:
        """Return an arm's times from the shortest length to the longest."""
        return tuple(each for each in self.timed if each.arm == arm)

    def speedup(self, arm: str, over: str, length: int) -> Estimate:
        """Return how many times as fast an arm is as another one, paired by round."""
        return median(_ratios(self._by_length[length], arm, over))

    def flops_ratio(self, arm: str, over: str, length: int) -> float:
        """Return the ratio of two arms' operations."""
        return self._flops(arm, length) / self._flops(over, length)

    def gain_growth(self, arm: str) -> Estimate:
        """Return the speedup on the longest length over that on the shortest; rounds of two lengths are no pairs."""
        shortest, longest = (self._by_length[length] for length in (self.lengths[0], self.lengths[-1]))
        baseline = self.experiment.baseline
        return median_ratio(_ratios(longest, arm, baseline), _ratios(shortest, arm, baseline))

    @cached_property
    def _by_length(self) -> dict[int, LatencyResult]:
        return {each.length: each for each in self.measured}

    def _flops(self, arm: str, length: int) -> int:
        return part_flops(self.experiment.architecture_of(arm), self.experiment.timing.part, length)

    def _timed(self) -> Iterator[ArmLatency]:
        baseline, sequences = self.experiment.baseline, self.experiment.timing.batch_sequences
        for length in self.lengths:
            for arm in self.arms:
                yield ArmLatency(
                    arm,
                    length,
                    self._flops(arm, length),
                    self.flops_ratio(arm, baseline, length),
                    median([took / sequences for took in self._by_length[length].seconds[arm]]),
                    self.speedup(arm, baseline, length),
                )


def _ratios(measured: LatencyResult, arm: str, over: str) -> list[float]:
    """Return how many times as fast the arm was in each round."""
    mine, others = measured.seconds[arm], measured.seconds[over]
    return [other / own for own, other in zip(mine, others, strict=True)]


def is_latency(snapshot: Snapshot) -> bool:
    """Return whether a snapshot is of a latency experiment."""
    return "timing" in snapshot.document


def latency_evidence_of(snapshot: Snapshot) -> LatencyEvidence:
    """Return what a latency experiment has brought to light, finished or not."""
    experiment = document_as(LatencyExperiment, snapshot.document)
    return LatencyEvidence(experiment, tuple(result for _, result in with_results(snapshot.shared, LatencyResult)))


def latency_table(evidence: LatencyEvidence, name: str) -> Table:
    """Return a row per length and arm."""
    return table(name, RESULT_COLUMNS, map(_row, evidence.timed))


def _row(timed: ArmLatency) -> Row:
    seconds, speedup = timed.seconds, timed.speedup
    return {
        "arm": timed.arm,
        "length": timed.length,
        "n": seconds.n,
        "milliseconds": seconds.value * MILLISECOND,
        "low": None if seconds.low is None else seconds.low * MILLISECOND,
        "high": None if seconds.high is None else seconds.high * MILLISECOND,
        "times_as_fast": speedup.value,
        "times_low": speedup.low,
        "times_high": speedup.high,
        "flops": timed.flops,
        "flops_ratio": timed.flops_ratio,
    }
