"""Forecasts of where arms that were stopped or still run would end, from the finished curves of the other arms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from analysis.finished_curves import Run, choice, choose, conformal_reach, left_out_errors
from reports.statistics.backtest import COVERAGE, Curve
from reports.statistics.results import Results
from search_space.recipe import Recipe


@dataclass(frozen=True)
class EndForecast:
    """One arm's forecast at the end of its schedule."""

    arm: str
    n: int
    seen: int
    loss: float
    end: float
    reach: float | None
    """Half width of the interval; None where too few curves have ended to calibrate one."""
    method: str
    judged: int
    """Finished curves that the method was chosen and calibrated by, each with its arm left out."""
    arms: int
    stopped: bool


def end_forecasts_of(results: Results) -> tuple[EndForecast, ...]:
    """Return a forecast for every arm without a finished trial; none where no other arm's has ended."""
    return tuple(_forecasts(results))


def _forecasts(results: Results) -> Iterator[EndForecast]:
    for arm in results.arms:
        recipe, curves = arm.candidate.recipe, results.learning_curves(arm.name)
        tokens, runs = finished_runs(results, recipe)
        if not curves or not runs or max(curves[0]) >= tokens[-1] or max(curves[0]) not in tokens:
            continue
        mean = _mean(curves)
        if tuple(mean) != tokens[: len(mean)]:
            continue
        chosen = choose(runs, len(mean))
        if chosen is None:
            continue
        errors = left_out_errors(choice, runs, len(mean)) or []
        yield EndForecast(
            arm=arm.name,
            n=len(curves),
            seen=max(mean),
            loss=mean[max(mean)],
            end=chosen.fitted(np.array(list(mean.values()))),
            reach=conformal_reach(errors, COVERAGE),
            method=chosen.name,
            judged=len(errors),
            arms=len({run.group for run in runs}),
            stopped=any(trial.stopped_by is not None for trial in results.trials[arm.name]),
        )


def finished_runs(results: Results, recipe: Recipe) -> tuple[tuple[int, ...], Sequence[Run]]:
    """Return the curves of a recipe that came to their end, by arm and seed, with the tokens that they share."""
    budget = recipe.own_tokens(results.experiment.pretraining.tokens)
    ended = [
        (arm.name, curve)
        for arm in results.arms
        if arm.candidate.recipe == recipe
        for curve in results.learning_curves(arm.name)
        if max(curve) >= budget
    ]
    if len({tuple(sorted(curve)) for _, curve in ended}) != 1:
        return (), ()
    tokens = tuple(sorted(ended[0][1]))
    return tokens, [Run(name, np.array([curve[at] for at in tokens])) for name, curve in ended]


def _mean(curves: Sequence[Curve]) -> dict[int, float]:
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    return {at: fmean(curve[at] for curve in curves) for at in shared}
