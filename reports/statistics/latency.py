"""Latencies from raw seconds: the time per length and arm, and the paired ratio to the baseline."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from reports.statistics.experiment import document_as
from reports.table import Row, Table, table
from steeplechase.analysis.bootstrap import Estimate, median, median_ratio
from steeplechase.configuration.latency import LatencyExperiment, part_flops
from steeplechase.ledger.records import with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import LatencyResult, Machine

RESULT_COLUMNS = "arm length n milliseconds low high times_as_fast times_low times_high flops flops_ratio"
MILLISECOND = 1e3


@dataclass(frozen=True)
class ArmLatency:
    """The latency of one arm at one length."""

    arm: str
    length: int
    flops: int
    """Of one sequence."""
    flops_ratio: float
    """Ratio to the baseline's FLOPs."""
    seconds: Estimate
    """Of one sequence."""
    speedup: Estimate
    """Speedup over the baseline: the median over rounds of the ratio within a round."""


@dataclass(frozen=True)
class LatencyEvidence:
    """The latencies from which tables, figure and finding take their numbers."""

    experiment: LatencyExperiment
    measured: tuple[LatencyResult, ...]
    recorded_flops: Mapping[str, Mapping[str, int]]
    """By arm and length, of an experiment with plugins."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, the baseline first."""
        return self.measured[0].arms if self.measured else tuple(arm.name for arm in self.experiment.candidates)

    @property
    def machine(self) -> Machine | None:
        """The machine of the measurement; None before one."""
        return self.measured[0].machine if self.measured else None

    @cached_property
    def timed(self) -> tuple[ArmLatency, ...]:
        """The latencies by length, then in the order of the arms."""
        return tuple(self._timed())

    @property
    def lengths(self) -> tuple[int, ...]:
        """Timed lengths in increasing order."""
        return tuple(sorted(self._by_length))

    @property
    def controls(self) -> tuple[str, ...]:
        """Arms identical to the baseline, whose differences from it are noise."""
        baseline = self.experiment.architecture_of(self.experiment.baseline)
        return tuple(arm for arm in self.arms[1:] if self.experiment.architecture_of(arm) == baseline)

    @cached_property
    def noise(self) -> float:
        """The largest departure of a control's interval from 1 at any length, as a factor; 1 without a control.

        It bounds effects that a bootstrap over rounds cannot contain because all rounds share them, such as the
        placement of weights in memory.
        """
        controls = [timed.speedup for timed in self.timed if timed.arm in self.controls]
        return max((max(timed.high or 1.0, 1 / (timed.low or 1.0)) for timed in controls), default=1.0)

    def significance(self, speedup: Estimate, ratios: int = 1) -> int:
        """Return 1 for significantly faster, -1 for significantly slower, 0 within the noise of that many ratios."""
        return speedup.beyond(self.noise**ratios)

    def of_arm(self, arm: str) -> tuple[ArmLatency, ...]:
        """Return an arm's latencies by increasing length."""
        return tuple(timed for timed in self.timed if timed.arm == arm)

    def speedup(self, arm: str, over: str, length: int) -> Estimate:
        """Return the speedup of an arm over another one, paired by round."""
        return median(_ratios(self._by_length[length], arm, over))

    def flops_ratio(self, arm: str, over: str, length: int) -> float:
        """Return the ratio of two arms' FLOPs."""
        return self._flops(arm, length) / self._flops(over, length)

    def gain_growth(self, arm: str) -> Estimate:
        """Return the speedup at the longest length over that at the shortest; their rounds are not paired."""
        shortest, longest = (self._by_length[length] for length in (self.lengths[0], self.lengths[-1]))
        baseline = self.experiment.baseline
        return median_ratio(_ratios(longest, arm, baseline), _ratios(shortest, arm, baseline))

    @cached_property
    def _by_length(self) -> dict[int, LatencyResult]:
        return {result.length: result for result in self.measured}

    def _flops(self, arm: str, length: int) -> int:
        if recorded := self.recorded_flops.get(arm):
            return recorded[str(length)]
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
                    median([seconds / sequences for seconds in self._by_length[length].seconds[arm]]),
                    self.speedup(arm, baseline, length),
                )


def _ratios(measured: LatencyResult, arm: str, over: str) -> list[float]:
    """Return the speedup of the arm in each round."""
    arm_seconds, reference_seconds = measured.seconds[arm], measured.seconds[over]
    return [reference / seconds for seconds, reference in zip(arm_seconds, reference_seconds, strict=True)]


def is_latency(snapshot: Snapshot) -> bool:
    """Return whether a snapshot is of a latency experiment."""
    return "timing" in snapshot.document


def latency_evidence_of(snapshot: Snapshot) -> LatencyEvidence:
    """Return the latencies of an experiment, finished or not."""
    experiment = document_as(LatencyExperiment, snapshot.document)
    measured = tuple(result for _, result in with_results(snapshot.shared, LatencyResult))
    return LatencyEvidence(experiment, measured, snapshot.part_flops)


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
