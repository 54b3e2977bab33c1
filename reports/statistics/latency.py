"""Latencies from raw seconds: time per length and arm, paired ratios to the baseline, a paper's statements."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from reports.statistics.claims import ClaimOutcome
from reports.statistics.results import Results
from reports.table import Row, Table, table
from search_space.architecture import Architecture
from steeplechase.analysis.bootstrap import Estimate, median, median_ratio
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.latency import Latency, LatencyResult, Machine, part_flops
from steeplechase.ledger.records import with_results

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

    experiment: Experiment
    timing: Latency
    """What is timed, and the statements on it."""
    measured: tuple[LatencyResult, ...]
    recorded_flops: Mapping[str, Mapping[str, int]]
    """By arm and length, of an experiment with plugins."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, the baseline first."""
        return self.measured[0].arms if self.measured else tuple(self.architectures)

    @cached_property
    def architectures(self) -> Mapping[str, Architecture]:
        """What is timed of every arm, the baseline first."""
        return self.timing.timed({arm.name: arm.candidate for arm in self.experiment.arms})

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
        baseline = self.architectures[self.timing.baseline]
        return tuple(arm for arm in self.arms[1:] if self.architectures[arm] == baseline)

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
        baseline = self.timing.baseline
        return median_ratio(_ratios(longest, arm, baseline), _ratios(shortest, arm, baseline))

    @cached_property
    def _by_length(self) -> dict[int, LatencyResult]:
        return {result.length: result for result in self.measured}

    def _flops(self, arm: str, length: int) -> int:
        if recorded := self.recorded_flops.get(arm):
            return recorded[str(length)]
        return part_flops(self.architectures[arm], self.timing.part, length)

    def _timed(self) -> Iterator[ArmLatency]:
        baseline, sequences = self.timing.baseline, self.timing.batch_sequences
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


def latencies_of(results: Results) -> LatencyEvidence | None:
    """Return the latencies of an experiment, finished or not; None where none is measured."""
    experiment, snapshot = results.experiment, results.snapshot
    if (timing := experiment.measure.settings(Latency)) is None:
        return None
    measured = tuple(result for _, result in with_results(snapshot.shared, LatencyResult))
    return LatencyEvidence(experiment, timing, measured, snapshot.part_flops)


def latency_table(evidence: LatencyEvidence, name: str) -> Table:
    """Return a row per length and arm, of seconds in milliseconds."""
    rows: list[Row] = []
    for timed in evidence.timed:
        seconds, speedup = timed.seconds, timed.speedup
        low, high = (None if bound is None else bound * MILLISECOND for bound in (seconds.low, seconds.high))
        times = {"n": seconds.n, "milliseconds": seconds.value * MILLISECOND, "low": low, "high": high}
        ratio = {"times_as_fast": speedup.value, "times_low": speedup.low, "times_high": speedup.high}
        of_flops = {"flops": timed.flops, "flops_ratio": timed.flops_ratio}
        rows.append({"arm": timed.arm, "length": timed.length, **times, **ratio, **of_flops})
    return table(name, RESULT_COLUMNS, rows)


OPERATIONS, TIME = "FLOPs", "time"


@dataclass(frozen=True)
class StatementVerdict:
    """One statement at one length or over all lengths, tested on FLOPs or on time."""

    statement: str
    measure: str
    at: str
    verdict: ClaimOutcome
    ratio: Estimate
    """Above 1 agrees with the paper; FLOPs are counted and have no interval."""


def statement_verdicts(evidence: LatencyEvidence) -> Iterator[StatementVerdict]:
    """Yield a verdict on every statement at every timed length."""
    timing = evidence.timing
    if not evidence.lengths:
        return
    for ordering in timing.faster:
        first, second = ordering.split(" > ")
        for length in evidence.lengths:
            counted = 1 / evidence.flops_ratio(first, second, length)
            yield _counted(ordering, f"n = {length}", counted)
            ratio = evidence.speedup(first, second, length)
            yield _timed(ordering, f"n = {length}", ratio, evidence.significance(ratio))
    if len(evidence.lengths) > 1:
        for arm in timing.widening:
            yield from _widening(evidence, arm)


def _widening(evidence: LatencyEvidence, arm: str) -> Iterator[StatementVerdict]:
    baseline, shortest, longest = evidence.timing.baseline, evidence.lengths[0], evidence.lengths[-1]
    statement, at = f"{arm} gains more on longer inputs (ours: its FLOPs say so)", f"n = {shortest} to {longest}"
    ratios = (evidence.flops_ratio(arm, baseline, length) for length in (shortest, longest))
    yield _counted(statement, at, next(ratios) / next(ratios))
    growth = evidence.gain_growth(arm)
    yield _timed(statement, at, growth, evidence.significance(growth, ratios=2))


def _counted(statement: str, at: str, ratio: float) -> StatementVerdict:
    verdict = ClaimOutcome.SUPPORTED if ratio > 1 else ClaimOutcome.CONTRADICTED
    return StatementVerdict(statement, OPERATIONS, at, verdict, Estimate(1, ratio, None, None))


def _timed(statement: str, at: str, ratio: Estimate, significance: int) -> StatementVerdict:
    verdicts = {1: ClaimOutcome.SUPPORTED, -1: ClaimOutcome.CONTRADICTED, 0: ClaimOutcome.UNDECIDED}
    return StatementVerdict(statement, TIME, at, verdicts[significance], ratio)
