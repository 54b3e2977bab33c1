"""Forecasts: how arms would stand at a budget that nothing was trained on, and where two of them would cross.

Each arm's mean curve is drawn on by a power law with a floor; what seeds differ by is added, and intervals are as
much wider as hiding the last part of the recorded curves shows they must be. Nothing here was measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
from jaxtyping import Float

from analysis.power_law import DRAWS
from configuration.arm import BASELINE
from configuration.metrics import HELD_OUT_LOSS
from foundation.randomness import stream
from reports.figures.figure_data import Ahead as Drawn
from reports.figures.figure_data import whole_curves
from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, fixed, short, signed
from reports.sanitise import printable
from reports.statistics.backtest import COVERAGE, Curve, Widening, band, law_of, widening
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, table

COLUMNS = (
    "arm n tokens_seen loss_seen tokens loss low high delta delta_low delta_high better "
    "widened judged judged_curves judged_ahead"
)
STEPS = 40
"""Budgets between what was seen and what is asked at which arms are compared."""
LOSS = Metric(HELD_OUT_LOSS)


@dataclass(frozen=True)
class Ahead:
    """Draws of an arm's mean loss from the tokens seen to the budget, a row per draw; equally likely."""

    arm: str
    n: int
    seen: int
    loss: float
    draws: Float[np.ndarray, "draws steps"]


@dataclass(frozen=True)
class Outlook:
    """All arms ahead, at the same budgets, and how their intervals were judged."""

    tokens: Float[np.ndarray, "steps"]  # noqa: F821
    arms: tuple[Ahead, ...]
    judged: Widening

    @property
    def ratio(self) -> float:
        """How far ahead the forecasts go, in times the tokens seen."""
        return float(self.tokens[-1] / self.tokens[0])


def outlook_of(results: Results) -> Outlook | None:
    """Return the forecasts that the experiment asks for; None where it asks for none or curves are too short."""
    if results.setting.forecast is None:
        return None
    curves = {arm.name: whole_curves(results.trials[arm.name]) for arm in results.arms}
    curves = {arm: of_seeds for arm, of_seeds in curves.items() if of_seeds}
    if not curves:
        return None
    seen = max(max(curve) for of_seeds in curves.values() for curve in of_seeds)
    alone = {f"{arm} {number}": c for arm, of_seeds in curves.items() for number, c in enumerate(of_seeds)}
    judged = widening(alone, results.setting.forecast.tokens / seen)
    tokens = np.geomspace(seen, results.setting.forecast.tokens, STEPS)
    arms = (ahead_of(arm, of_seeds, tokens, judged) for arm, of_seeds in curves.items() if max(of_seeds[0]) == seen)
    return Outlook(tokens, tuple(arm for arm in arms if arm), judged)


def ahead_of(
    arm: str,
    curves: tuple[Curve, ...],
    tokens: Float[np.ndarray, "steps"],  # noqa: F821
    judged: Widening,
) -> Ahead | None:
    """Return an arm's draws from its seeds' curves, None where they are too short."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    mean = {at: fmean(curve[at] for curve in curves) for at in shared}
    law = law_of(arm, mean)
    if law is None:
        return None
    draws = law.at(tokens)
    middle = np.median(draws, axis=0)
    widened = np.array([judged.at(ratio) for ratio in (tokens / tokens[0]).tolist()])
    draws = middle + widened * (draws - middle)
    if len(curves) > 1:
        ends = [curve[shared[-1]] for curve in curves]
        student = stream(0, f"seeds ahead {arm}").standard_t(len(ends) - 1, DRAWS)
        draws = draws + student[:, None] * stdev(ends) / len(ends) ** 0.5
    return Ahead(arm, len(curves), shared[-1], mean[shared[-1]], draws)


def drawn_ahead(outlook: Outlook | None) -> tuple[Drawn, ...]:
    """Return the forecasts as a figure shows them: the middle and where 90% lie, from the tokens seen on."""
    found = []
    for arm in outlook.arms if outlook is not None else ():
        assert outlook is not None
        low, middle, high = np.quantile(arm.draws, ((1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2), axis=0).tolist()
        tokens = tuple(outlook.tokens.tolist())
        found.append(Drawn(printable(arm.arm), tokens, tuple(middle), tuple(low), tuple(high)))
    return tuple(found)


def forecast_table(outlook: Outlook | None) -> Table:
    """Return how each arm would stand at the budget, and beside the baseline; `better` is a probability."""
    return table("forecast", COLUMNS, () if outlook is None else _rows(outlook))


def _rows(outlook: Outlook) -> Iterator[Row]:
    baseline = next((arm for arm in outlook.arms if arm.arm == BASELINE), None)
    for arm in outlook.arms:
        end = arm.draws[:, -1]
        middle, half = band(end)
        beside: Mapping[str, float | None] = dict.fromkeys(("delta", "delta_low", "delta_high", "better"))
        if baseline is not None and arm is not baseline:
            delta, reach = band(end - baseline.draws[:, -1])
            better = float(np.mean(end < baseline.draws[:, -1]))
            beside = {"delta": delta, "delta_low": delta - reach, "delta_high": delta + reach, "better": better}
        yield {
            "arm": arm.arm,
            "n": arm.n,
            "tokens_seen": arm.seen,
            "loss_seen": arm.loss,
            "tokens": round(float(outlook.tokens[-1])),
            "loss": middle,
            "low": middle - half,
            "high": middle + half,
            **beside,
            "widened": outlook.judged.at(outlook.ratio),
            "judged": outlook.judged.forecasts,
            "judged_curves": outlook.judged.curves,
            "judged_ahead": outlook.judged.ahead,
        }


def crossings_table(outlook: Outlook | None) -> Table:
    """Return the pairs of arms that more likely than not change places before the budget, with when."""
    columns = "now_better then_better probability tokens tokens_low tokens_high"
    return table("crossings", columns, () if outlook is None else _crossings(outlook))


def _crossings(outlook: Outlook) -> Iterator[Row]:
    for first, second in combinations(outlook.arms, 2):
        ahead, behind = sorted((first, second), key=lambda arm: (arm.loss, arm.arm))
        passed = ahead.draws > behind.draws
        passed[:, 0] = False  # what is seen is seen
        crosses = passed.any(axis=1)
        if np.mean(crosses & passed[:, -1]) <= 0.5:
            continue
        at = outlook.tokens[passed[crosses].argmax(axis=1)]
        low, middle, high = np.quantile(at, ((1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2))
        yield {
            "now_better": ahead.arm,
            "then_better": behind.arm,
            "probability": float(np.mean(crosses & passed[:, -1])),
            "tokens": round(float(middle)),
            "tokens_low": round(float(low)),
            "tokens_high": round(float(high)),
        }


def forecast_grids(outlook: Outlook | None, decimals: int) -> Iterator[Grid]:
    """Yield the forecasts as people read them, each marked as what it is."""
    if outlook is None or not outlook.arms:
        return
    budget = short(round(float(outlook.tokens[-1])))
    columns = [Column("arm", numeric=False), Column("measured"), Column("forecast [90%]"), Column("Δ [90%]")]
    rows = (_cells(row, decimals) for row in _rows(outlook))
    title = f"Forecast, not measured: held-out loss at {budget} tokens"
    yield grid("forecast", title, [*columns, Column("better than the baseline")], rows)
    found = list(_crossings(outlook))
    if found:
        columns = [Column("better now", numeric=False), Column("better then", numeric=False), Column("probability")]
        cells = (
            [str(row["now_better"]), str(row["then_better"]), f"{row['probability']:.2f}", _when(row)]
            for row in found
        )
        yield grid("crossings", f"Forecast: who would cross before {budget}", [*columns, Column("at [90%]")], cells)


def _cells(row: Row, decimals: int) -> list[str]:
    value = {name: float(entry) for name, entry in row.items() if isinstance(entry, int | float)}
    loss = f"{fixed(value['loss'], decimals)} [{fixed(value['low'], decimals)}, {fixed(value['high'], decimals)}]"
    measured = f"{fixed(value['loss_seen'], decimals)} at {short(int(value['tokens_seen']))} ({row['n']})"
    if "delta" not in value:
        return [str(row["arm"]), measured, loss, NOTHING, NOTHING]
    delta, low, high = (signed(value[name], decimals) for name in ("delta", "delta_low", "delta_high"))
    return [str(row["arm"]), measured, loss, f"{delta} [{low}, {high}]", f"probability {value['better']:.2f}"]


def _when(row: Row) -> str:
    middle, low, high = (short(int(str(row[name]))) for name in ("tokens", "tokens_low", "tokens_high"))
    return f"{middle} [{low}, {high}]"


def forecast_note(outlook: Outlook) -> str:
    """Return how far the forecasts can be trusted."""
    found, ratio = outlook.judged, outlook.ratio
    count = f"{found.forecasts} forecasts of {found.curves} curves"
    far = f"up to {found.ahead:.2g} times the tokens seen" if found.forecasts else "by nothing here"
    beyond = "; beyond, they grow as a random walk's would and nothing vouches"
    return (
        f"Forecasts draw each curve on by a power law with a floor to {ratio:.2g} times the tokens seen; their 90% "
        f"intervals are judged by hiding the ends of the recorded curves ({count}), {far}, and "
        f"{found.at(ratio):.2f} times as wide for it{beyond if ratio > found.ahead * (1 + 1e-9) else ''}."
    )
