"""Gaps in held-out loss with starts separated from ends: at equal progress since each run left its plateau.

An arm that leaves the plateau earlier has trained longer since. Two kinds of progress are compared: tokens, where the
arm is read before its learning rate has come down, and the integral of the learning rate, which weighs the updates
after the exit by their step size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean

import numpy as np

from analysis.alignment import Progress, Run, aligned, by_tokens
from analysis.difference import Difference, MeanTest
from analysis.effects import difference_of
from analysis.plateau import Plateau, plateau_of
from configuration.arm import BASELINE
from configuration.stage_label import PRETRAIN
from ledger.records import ArmRow, TrialStatus
from ledger.snapshot import TrialHistory
from ledger.stage_results import Pretraining, finite_points
from reports.statistics.results import Results
from search_space.candidate import Candidate
from search_space.recipe import Recipe

TOKENS, RATE = "tokens", "rate"
KNOTS = 4096
"""Updates at which the integral of the learning rate is known; it is linear between them."""

PLACES = 24
"""Of a gap by progress."""

Curve = Mapping[int, float]


@dataclass(frozen=True)
class GapCurve:
    """An arm's mean gap to the baseline by progress since the plateau, at places that all its seeds reach."""

    arm: str
    kind: str
    """Tokens, or the integral of the learning rate in tokens at the baseline's peak rate."""
    n: int
    progress: tuple[float, ...]
    gaps: tuple[float, ...]


@dataclass(frozen=True)
class AlignedGap:
    """An arm's gap to the baseline in held-out loss, as it is and at equal progress since the plateau."""

    arm: str
    exits: tuple[float | None, ...]
    """Tokens at which each seed leaves the plateau; None where one never does."""
    raw: Difference
    """At the ends, over the same seeds."""
    tokens: Difference
    rate: Difference


@dataclass(frozen=True)
class AlignedGaps:
    """Every arm's gap, with the plateau that all curves share."""

    level: float
    baseline_exits: tuple[float | None, ...]
    gaps: tuple[AlignedGap, ...]
    curves: tuple[GapCurve, ...] = ()


@dataclass(frozen=True)
class _Trial:
    """One finished trial."""

    name: str
    candidate: Candidate
    train: Curve
    held_out: Curve


Pairs = list[tuple[_Trial, _Trial]]


def aligned_gaps_of(results: Results) -> AlignedGaps | None:
    """Return the gaps of all arms; None where no run of the baseline leaves a plateau that the curves share."""
    if results.is_search or results.experiment.pretraining.init_checkpoint is not None:
        return None
    trials = {arm.name: _trials(arm, results.trials[arm.name]) for arm in results.arms}
    plateau = plateau_of({trial.name: trial.train for each in trials.values() for trial in each.values()})
    baseline = trials.get(BASELINE, {})
    if plateau is None or all(plateau.exits.get(trial.name) is None for trial in baseline.values()):
        return None
    tokens = results.experiment.pretraining.tokens
    gaps = (
        _gap(arm.name, trials[arm.name], baseline, plateau, tokens, results.test)
        for arm in results.arms
        if arm.name != BASELINE and trials[arm.name]
    )
    curves = (
        curve
        for arm in results.arms
        if arm.name != BASELINE
        for kind in (TOKENS, RATE)
        if (curve := _gap_curve(arm.name, kind, _pairs(trials[arm.name], baseline, plateau), plateau, tokens))
    )
    return AlignedGaps(plateau.level, _exits(baseline, plateau), tuple(gaps), tuple(curves))


def _trials(arm: ArmRow, histories: tuple[TrialHistory, ...]) -> dict[int, _Trial]:
    """Return by seed the trials that came to their end."""
    return {
        history.trial.seed: _Trial(history.trial.name, arm.candidate, *_curves(history))
        for history in histories
        if history.status is TrialStatus.FINISHED and history.finished(PRETRAIN)
    }


def _curves(history: TrialHistory) -> tuple[Curve, Curve]:
    train: dict[int, float] = {}
    held_out: dict[int, float] = {}
    for record in history.finished(PRETRAIN):
        if isinstance(record.result, Pretraining):
            train |= dict(finite_points(record.result.train_curve))
            held_out |= record.result.held_out
    return train, held_out


def _exits(trials: Mapping[int, _Trial], plateau: Plateau) -> tuple[float | None, ...]:
    return tuple(plateau.exits.get(trial.name) for _, trial in sorted(trials.items()))


def _pairs(trials: Mapping[int, _Trial], baseline: Mapping[int, _Trial], plateau: Plateau) -> Pairs:
    """Return the trials of an arm and of the baseline by seed, where both have left the plateau."""
    pairs = [(trials[seed], baseline[seed]) for seed in sorted(trials.keys() & baseline.keys())]
    return [pair for pair in pairs if all(one.held_out and plateau.exits.get(one.name) is not None for one in pair)]


def _gap(
    arm: str,
    trials: Mapping[int, _Trial],
    baseline: Mapping[int, _Trial],
    plateau: Plateau,
    tokens: int,
    test: MeanTest,
) -> AlignedGap:
    pairs = _pairs(trials, baseline, plateau)
    raw = [(one.held_out[max(one.held_out)], other.held_out[max(other.held_out)]) for one, other in pairs]
    by_kind = (
        [aligned(_run(one, plateau, kind, tokens), _run(other, plateau, kind, tokens)) for one, other in pairs]
        for kind in (TOKENS, RATE)
    )
    at_equal = (_difference(losses, test) for losses in by_kind)
    return AlignedGap(arm, _exits(trials, plateau), _difference([*raw], test), *at_equal)


def _gap_curve(arm: str, kind: str, pairs: Pairs, plateau: Plateau, tokens: int) -> GapCurve | None:
    """Return the mean gap from where all runs can be read to where the first of them ends."""
    runs = [(_run(one, plateau, kind, tokens), _run(other, plateau, kind, tokens)) for one, other in pairs]
    if not runs:
        return None
    places = np.linspace(0, min(run.since for pair in runs for run in pair), PLACES + 1)[1:].tolist()
    read = {at: [(one.read(at), other.read(at)) for one, other in runs] for at in places}
    known = {at: losses for at, losses in read.items() if not any(None in pair for pair in losses)}
    gaps = (fmean(one - other for one, other in losses) for losses in known.values())  # type: ignore[operator]
    recipe = pairs[0][1].candidate.recipe
    unit = 1.0 if kind == TOKENS else recipe.peak_learning_rate / recipe.tokens_per_step
    return GapCurve(arm, kind, len(runs), tuple(at / unit for at in known), tuple(gaps)) if known else None


def _difference(losses: list[tuple[float, float] | None], test: MeanTest) -> Difference:
    """Return the difference over the pairs of runs that can both be read."""
    known = [pair for pair in losses if pair is not None]
    values, others = (dict(enumerate(pair[side] for pair in known)) for side in (0, 1))
    return difference_of(values, others, test=test)


def _run(trial: _Trial, plateau: Plateau, kind: str, tokens: int) -> Run:
    event = plateau.exits[trial.name]
    assert event is not None
    recipe, end = trial.candidate.recipe, max(trial.held_out)
    progress = by_tokens(float(end)) if kind == TOKENS else rate_integral(recipe, recipe.steps(tokens))
    return Run(trial.held_out, event, progress)


@cache
def rate_integral(recipe: Recipe, updates: int) -> Progress:
    """Return the sum of the learning rates of all updates so far, by tokens; the schedule ends with `updates`."""
    steps = np.unique(np.linspace(0, updates - 1, min(updates, KNOTS)).round().astype(int))
    horizon = updates * recipe.tokens_per_step
    rates = np.array([recipe.rate_at(step, horizon) for step in steps.tolist()])
    between = (rates[1:] + rates[:-1]) / 2 * np.diff(steps) + np.diff(rates) / 2  # exact where rates are linear
    sums = np.concatenate([[0.0, rates[0]], rates[0] + np.cumsum(between)])
    return Progress(np.concatenate([[0.0], (steps + 1.0) * recipe.tokens_per_step]), sums)
