"""Which forecast of a curve's end is best out of sample: every arm left out, the last points of its curves hidden.

The power law reads a curve alone; its 90% interval is its own, which so few points cannot calibrate. The methods of
`analysis/finished_curves.py` and the rate-aware law read the finished curves of the other arms; "chosen" is that of
the former with the smallest error at those. Intervals are from the errors at those, each with its own arm left out.
The interval of the coverage is a bootstrap over curves. Where the learning rates are not known, there is no such law.
Usage: python -m benchmarks.forecast_methods PATH [PATH ...], folders with a ledger or its export, files of curves.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.table import Table

from analysis.finished_curves import METHODS, Fitted, Method, Run, choice, conformal_reach, left_out_errors
from benchmarks.forecast_coverage import tables_of
from benchmarks.rate_law import Path as Curve
from benchmarks.rate_law import RateLaw, sums_and_areas
from ledger.reading import snapshot_at
from reports.statistics.backtest import COVERAGE, band, law_of
from reports.statistics.end_forecasts import finished_runs
from reports.statistics.results import Results, results_of
from runners.replay.curves.reading import read_curves
from search_space.recipe import Recipe

SHARES = (0.15, 0.25, 0.4)
"""Of a curve's points, hidden at its end: one, two and three of eight."""
FEWEST_ARMS = 3
RESAMPLES = 10_000
POWER_LAW, CHOSEN = "power law", "chosen"
FIRST_POINT = 1
"""The rate-aware law leaves out the points before: the first still belongs to the plateau."""


@dataclass(frozen=True)
class Judged:
    """One forecast: its error, and the half width of its interval where there is one."""

    error: float
    half: float | None


def rate_law_of(recipe: Recipe, updates: int, tokens: Sequence[int]) -> Method:
    """Return the rate-aware law with the others' exponent and gain and a curve's own floor and scale."""
    horizon = updates * recipe.tokens_per_step
    rates = np.array([recipe.rate_at(step, horizon) for step in range(updates)])
    places = np.clip(np.array(tokens) // recipe.tokens_per_step - 1, 0, updates - 1)
    sums, areas = (values[places] for values in sums_and_areas(rates))

    def fitted_on(runs: Sequence[Run], seen: int) -> Fitted:
        law = RateLaw.fit([Curve(sums, areas, run.losses).between(FIRST_POINT) for run in runs])
        return lambda losses: law.end(
            Curve(sums, areas, losses).between(FIRST_POINT, seen), float(sums[-1]), float(areas[-1])
        )

    return fitted_on


def judge(tokens: Sequence[int], runs: Sequence[Run], method: Method | None) -> list[list[Judged]]:
    """Return the forecasts of every curve, its arm left out, one per hidden share; None is the power law."""
    found = []
    for run in runs:
        others = [other for other in runs if other.group != run.group]
        hidden = sorted({max(1, round(len(tokens) * share)) for share in SHARES})
        found.append([_judged(tokens, others, run, len(tokens) - points, method) for points in hidden])
    return found


def _judged(tokens: Sequence[int], others: Sequence[Run], run: Run, seen: int, method: Method | None) -> Judged:
    if method is None:
        law = law_of("end", dict(zip(tokens[:seen], run.losses[:seen].tolist(), strict=True)))
        assert law is not None
        end, half = band(law.at(np.array([float(tokens[-1])]))[:, 0] + law.noise)
        return Judged(end - run.end, half)
    errors, fitted = left_out_errors(method, others, seen), method(others, seen)
    assert fitted is not None
    return Judged(fitted(run.losses) - run.end, conformal_reach(errors or [], COVERAGE))


def coverage_text(judged: Sequence[Sequence[Judged]]) -> str:
    """Return the share of ends inside their intervals with its interval; "not calibrated" where there are none."""
    known = [[abs(one.error) <= one.half for one in of_run if one.half is not None] for of_run in judged]
    if not all(known):
        return "not calibrated"
    shares = np.array([fmean(inside) for inside in known])
    chance = np.random.default_rng(0)
    drawn = shares[chance.integers(len(shares), size=(RESAMPLES, len(shares)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return f"{shares.mean():.0%} [{low:.0%}, {high:.0%}]"


Case = tuple[str, str, Sequence[int], Sequence[Run], dict[str, Method | None]]
"""Source, which curves, their tokens, the curves, and the methods that apply."""


def cases_of(path: Path) -> Iterator[Case]:
    """Yield the curves of a ledger, with and without arms of attention alone, or those of a file of curves."""
    if path.is_dir():
        yield from _of_ledger(path.name, results_of(snapshot_at(path)))
        return
    for task in read_curves(path):
        for curves in tables_of(task):
            tokens = sorted(next(iter(curves.values())))
            runs = [Run(name, np.array([curve[at] for at in tokens])) for name, curve in curves.items()]
            yield task.name, f"tables of {len(runs)}", tokens, runs, {POWER_LAW: None, **METHODS, CHOSEN: choice}


def _of_ledger(name: str, results: Results) -> Iterator[Case]:
    convolved = {arm.name for arm in results.arms if arm.candidate.architecture.convolution.kind != "none"}
    recipe, budget = results.experiment.baseline.recipe, results.experiment.pretraining.tokens
    tokens, every = finished_runs(results, recipe)
    rate_law = rate_law_of(recipe, recipe.steps(budget), tokens)
    methods: dict[str, Method | None] = {POWER_LAW: None, "rate-aware law": rate_law, **METHODS, CHOSEN: choice}
    for which, runs in (("with a convolution", [run for run in every if run.group in convolved]), ("all", every)):
        if len({run.group for run in runs}) >= FEWEST_ARMS:
            yield name, which, tokens, runs, methods


def rows_of(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield source, arms, number of curves, method, root mean squared error, coverage and half width."""
    found: dict[tuple[str, str, str], list[list[Judged]]] = {}
    for source, which, tokens, runs, methods in cases_of(path):
        for title, method in methods.items():
            found.setdefault((source, which, title), []).extend(judge(tokens, runs, method))
    for names, judged in found.items():
        error = fmean(one.error**2 for of_run in judged for one in of_run) ** 0.5
        halves = [one.half for of_run in judged for one in of_run if one.half is not None]
        half = f"{fmean(halves):.3f}" if halves else "–"
        yield *names[:2], str(len(judged)), names[2], f"{error:.3f}", coverage_text(judged), half


def main(paths: list[str]) -> int:
    """Print a row per ledger, kind of arms and method; return 2 without paths."""
    if not paths:
        Console(stderr=True).print(__doc__, markup=False)
        return 2
    shown = Table("curves of", "which", "n", "method", "rmse", "coverage of 90% [95%]", "half width", box=None)
    for path in map(Path, paths):
        for row in rows_of(path):
            shown.add_row(*row)
    Console(width=140).print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
