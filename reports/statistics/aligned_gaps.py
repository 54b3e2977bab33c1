"""Gaps in held-out loss with starts separated from ends: at equal progress since each run left its plateau.

An arm that leaves the plateau earlier has trained longer since. Two kinds of progress are compared: tokens, where the
arm is read before its learning rate has come down, and the integral of the learning rate, which weighs the updates
after the exit by their step size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from analysis.alignment import Progress, Run, aligned, by_tokens, welch
from analysis.effects import Difference
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

Curve = Mapping[int, float]


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


@dataclass(frozen=True)
class _Trial:
    """One finished trial."""

    name: str
    candidate: Candidate
    train: Curve
    held_out: Curve


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
        _gap(arm.name, trials[arm.name], baseline, plateau, tokens)
        for arm in results.arms
        if arm.name != BASELINE and trials[arm.name]
    )
    return AlignedGaps(plateau.level, _exits(baseline, plateau), tuple(gaps))


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


def _gap(
    arm: str, trials: Mapping[int, _Trial], baseline: Mapping[int, _Trial], plateau: Plateau, tokens: int
) -> AlignedGap:
    """Return an arm's gap over the seeds at which it and the baseline have left the plateau, runs paired by seed."""
    pairs = [(trials[seed], baseline[seed]) for seed in sorted(trials.keys() & baseline.keys())]
    raw, found = [], {TOKENS: [], RATE: []}  # type: ignore[var-annotated]
    for pair in pairs:
        if any(plateau.exits.get(trial.name) is None or not trial.held_out for trial in pair):
            continue
        raw.append(tuple(trial.held_out[max(trial.held_out)] for trial in pair))
        for kind, losses in found.items():
            one, other = (_run(trial, plateau, kind, tokens) for trial in pair)
            if (at_equal := aligned(one, other)) is not None:
                losses.append(at_equal)
    return AlignedGap(arm, _exits(trials, plateau), _welch(raw), _welch(found[TOKENS]), _welch(found[RATE]))


def _welch(pairs: list[tuple[float, float]]) -> Difference:
    return welch([first for first, _ in pairs], [second for _, second in pairs])


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
    between = (rates[1:] + rates[:-1]) / 2 * np.diff(steps)
    sums = np.concatenate([[0.0, rates[0]], rates[0] + np.cumsum(between)])
    return Progress(np.concatenate([[0.0], (steps + 1.0) * recipe.tokens_per_step]), sums)
