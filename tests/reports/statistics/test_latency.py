"""Statistics of latencies: independent of order, in agreement with scipy, undecided within noise."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import bootstrap

from reports.sections.latency import finding
from reports.statistics.claims import ClaimOutcome
from reports.statistics.latency import OPERATIONS, TIME, LatencyEvidence, statement_verdicts
from steeplechase.analysis.bootstrap import RESAMPLES, median
from steeplechase.configuration.experiment import Experiment
from tests.factories.latencies import ARMS, Seconds, experiment, latencies_in, snapshot_of

ROUNDS = 12
CONTROLLED = {"attention": {}, "control": {}, "mixed": ARMS["mixed"]}
seconds = some.floats(1e-6, 1e3)


def steady(*speedups: float, baseline: float = 1.0) -> tuple[float, ...]:
    """Return twelve times of an arm with these speedups over the baseline in turn."""
    return tuple(baseline / speedups[number % len(speedups)] for number in range(ROUNDS))


def results(by_length: Seconds, asked: Experiment | None = None) -> LatencyEvidence:
    return latencies_in(snapshot_of(by_length, asked))


def analysis(
    by_length: Mapping[int, Mapping[str, tuple[float, ...]]], arms: Mapping[str, object] | None = None
) -> LatencyEvidence:
    return results(by_length, experiment(arms, lengths=tuple(by_length), rounds=ROUNDS))


@given(some.lists(seconds, min_size=2, max_size=30), some.randoms())
def test_an_interval_contains_its_median_and_ignores_the_order(values: list[float], chance: object) -> None:
    estimate = median(values)
    assert estimate.low is not None
    assert estimate.high is not None
    assert min(values) <= estimate.low <= estimate.value <= estimate.high <= max(values)
    shuffled = list(values)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert median(shuffled) == estimate


@pytest.mark.parametrize("values", [[], [float("nan"), 1.0], [1.0, float("inf")]])
def test_non_finite_values_are_rejected(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        median(values)


def test_intervals_are_those_of_scipy() -> None:
    values = np.random.default_rng(3).lognormal(sigma=0.2, size=40)
    estimate = median(list(values))
    expected = bootstrap((values,), np.median, n_resamples=4 * RESAMPLES, method="percentile", rng=1)
    low, high = expected.confidence_interval
    assert (estimate.low, estimate.high) == (pytest.approx(low, rel=0.01), pytest.approx(high, rel=0.01))


@given(some.permutations(range(ROUNDS)), some.permutations(["attention", "control", "mixed"]), some.booleans())
@settings(max_examples=10)
def test_the_order_of_arms_lengths_and_rounds_never_shows(rounds: list[int], names: list[str], turned: bool) -> None:
    chance = np.random.default_rng(1)
    drawn = {length: {arm: tuple(chance.uniform(1, 2, ROUNDS)) for arm in CONTROLLED} for length in (8, 16)}
    lengths = (16, 8) if turned else (8, 16)
    mixed_up = {length: {arm: tuple(drawn[length][arm][at] for at in rounds) for arm in names} for length in lengths}
    one, other = analysis(drawn, CONTROLLED), analysis(mixed_up, {name: CONTROLLED[name] for name in names})
    key = {(each.arm, each.length): each for each in other.timed}
    assert {(each.arm, each.length): each for each in one.timed} == key
    assert one.noise == other.noise
    assert list(statement_verdicts(one)) == list(statement_verdicts(other))
    assert finding(one) == finding(other)


@settings(max_examples=10)
@given(some.floats(0.1, 10), some.integers(0, 11))
def test_slowing_both_arms_of_a_round_changes_no_ratio(slower: float, at: int) -> None:
    plain = {"attention": steady(1.0), "mixed": steady(1.2, 1.3)}
    slowed = {arm: (*took[:at], took[at] * slower, *took[at + 1 :]) for arm, took in plain.items()}
    one, other = (analysis({8: each}).of_arm("mixed")[0].speedup for each in (plain, slowed))
    assert one.value == pytest.approx(other.value)


def test_seconds_are_of_one_sequence_of_the_batch() -> None:
    asked = experiment(lengths=(8,), batch_sequences=4)
    measured = results({8: {"attention": (4.0,) * 3, "mixed": (2.0,) * 3}}, asked)
    assert [each.seconds.value for each in measured.timed] == [1.0, 0.5]
    assert [each.speedup.value for each in measured.timed] == [1.0, 2.0]


def verdicts(by_length: Seconds, arms: Mapping[str, object] | None = None) -> dict[tuple[str, str], ClaimOutcome]:
    return {(found.measure, found.at): found.verdict for found in statement_verdicts(analysis(by_length, arms))}


def test_a_verdict_follows_the_interval() -> None:
    outcomes = verdicts(
        {
            8: {"attention": steady(1.0), "mixed": steady(0.8, 0.81)},
            16: {"attention": steady(1.0), "mixed": steady(0.9, 1.1)},
            32: {"attention": steady(1.0), "mixed": steady(1.4, 1.5)},
        }
    )
    assert outcomes[TIME, "n = 8"] is ClaimOutcome.CONTRADICTED
    assert outcomes[TIME, "n = 16"] is ClaimOutcome.UNDECIDED
    assert outcomes[TIME, "n = 32"] is ClaimOutcome.SUPPORTED
    assert outcomes[TIME, "n = 8 to 32"] is ClaimOutcome.SUPPORTED
    assert outcomes[OPERATIONS, "n = 32"] is ClaimOutcome.SUPPORTED


def test_a_difference_within_that_of_a_control_is_not_significant() -> None:
    close = {"attention": steady(1.0), "mixed": steady(1.02, 1.03)}
    assert verdicts({8: close})[TIME, "n = 8"] is ClaimOutcome.SUPPORTED
    noisy = {8: {**close, "control": steady(1.0)}, 16: {**close, "control": steady(1.05, 0.96)}}
    assert verdicts(noisy, CONTROLLED)[TIME, "n = 8"] is ClaimOutcome.UNDECIDED
    assert analysis(noisy, CONTROLLED).noise >= 1.04


def test_the_finding_reports_the_progress_of_the_run() -> None:
    times = {"attention": (1.0, 1.1, 1.0), "mixed": (0.5, 0.55, 0.5)}
    assert finding(results({})) == "No result yet: none of 2 lengths has been timed."
    assert finding(results({8: times})).startswith("So far, with 1 of 2 lengths timed: At n = 8 mixed is 2.0")
    told = finding(results({16: times, 8: times}))
    assert told.startswith("At n = 16 mixed is 2.0")
    assert "as fast as attention [2.0" in told
    assert "(3 paired rounds per length; the attention sublayer alone, 1 sequence per pass, cpu, 1 thread)." in told
    assert told.endswith("Faster at n = 8, 16.")
