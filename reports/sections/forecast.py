"""Forecasts: how arms compare at a budget that nothing was trained on, and which pairs of them cross before it."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from configuration.arm import BASELINE
from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, fixed, short, signed
from reports.section import Content, Section
from reports.statistics.backtest import COVERAGE, band
from reports.statistics.evidence import Evidence
from reports.statistics.forecast import LOSS, Forecast
from reports.table import Row, Table, table

COLUMNS = (
    "arm n tokens_seen loss_seen tokens loss low high delta delta_low delta_high better "
    "widened judged judged_curves judged_ahead"
)


def forecast_table(forecast: Forecast | None) -> Table:
    """Return the forecast of each arm at the budget and its difference to the baseline; `better` is a probability."""
    return table("forecast", COLUMNS, () if forecast is None else _rows(forecast))


def _rows(forecast: Forecast) -> Iterator[Row]:
    baseline = next((arm for arm in forecast.arms if arm.arm == BASELINE), None)
    for arm in forecast.arms:
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
            "tokens": round(float(forecast.tokens[-1])),
            "loss": middle,
            "low": middle - half,
            "high": middle + half,
            **beside,
            "widened": forecast.judged.at(forecast.ratio),
            "judged": forecast.judged.forecasts,
            "judged_curves": forecast.judged.curves,
            "judged_ahead": forecast.judged.ahead,
        }


def crossings_table(forecast: Forecast | None) -> Table:
    """Return the pairs of arms that more likely than not change places before the budget, with when."""
    columns = "now_better then_better probability tokens tokens_low tokens_high"
    return table("crossings", columns, () if forecast is None else _crossings(forecast))


def _crossings(forecast: Forecast) -> Iterator[Row]:
    for first, second in combinations(forecast.arms, 2):
        ahead, behind = sorted((first, second), key=lambda arm: (arm.loss, arm.arm))
        passed = ahead.draws > behind.draws
        passed[:, 0] = False  # what is seen is seen
        crosses = passed.any(axis=1)
        if np.mean(crosses & passed[:, -1]) <= 0.5:
            continue
        at = forecast.tokens[passed[crosses].argmax(axis=1)]
        low, middle, high = np.quantile(at, ((1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2))
        yield {
            "now_better": ahead.arm,
            "then_better": behind.arm,
            "probability": float(np.mean(crosses & passed[:, -1])),
            "tokens": round(float(middle)),
            "tokens_low": round(float(low)),
            "tokens_high": round(float(high)),
        }


def forecast_grids(forecast: Forecast | None, decimals: int) -> Iterator[Grid]:
    """Yield the forecasts as people read them, each marked as what it is."""
    if forecast is None or not forecast.arms:
        return
    budget = short(round(float(forecast.tokens[-1])))
    columns = [Column("arm", numeric=False), Column("measured"), Column("forecast [90%]"), Column("Δ [90%]")]
    rows = (_cells(row, decimals) for row in _rows(forecast))
    title = f"Forecast, not measured: held-out loss at {budget} tokens"
    shown = grid("forecast", title, [*columns, Column("better than the baseline")], rows)
    yield with_notes(shown, [forecast_note(forecast)])
    found = list(_crossings(forecast))
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


def forecast_note(forecast: Forecast) -> str:
    """Return how far the forecasts can be trusted."""
    found, ratio = forecast.judged, forecast.ratio
    count = f"{found.forecasts} forecasts of {found.curves} curves"
    far = f"up to {found.ahead:.2g} times the tokens seen" if found.forecasts else "by nothing here"
    beyond = "; beyond, they grow as a random walk's would and nothing vouches"
    return (
        f"Forecasts draw each curve on by a power law with a floor to {ratio:.2g} times the tokens seen; their 90% "
        f"intervals are judged by hiding the ends of the recorded curves ({count}), {far}, and "
        f"{found.at(ratio):.2f} times as wide for it{beyond if ratio > found.ahead * (1 + 1e-9) else ''}."
    )


def _content(evidence: Evidence) -> Content:
    forecast = evidence.forecast
    return Content(
        (forecast_table(forecast), crossings_table(forecast)),
        tuple(forecast_grids(forecast, evidence.results.decimals(LOSS))),
    )


SECTION = Section("forecast", _content)
