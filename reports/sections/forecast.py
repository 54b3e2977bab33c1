"""Forecasts: differences between arms extrapolated to a larger budget, and the pairs of arms that cross before it."""

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
        median, half_width = band(end)
        to_baseline: Mapping[str, float | None] = dict.fromkeys(("delta", "delta_low", "delta_high", "better"))
        if baseline is not None and arm is not baseline:
            delta, delta_half_width = band(end - baseline.draws[:, -1])
            better = float(np.mean(end < baseline.draws[:, -1]))
            to_baseline = {
                "delta": delta,
                "delta_low": delta - delta_half_width,
                "delta_high": delta + delta_half_width,
                "better": better,
            }
        yield {
            "arm": arm.arm,
            "n": arm.n,
            "tokens_seen": arm.seen,
            "loss_seen": arm.loss,
            "tokens": round(float(forecast.tokens[-1])),
            "loss": median,
            "low": median - half_width,
            "high": median + half_width,
            **to_baseline,
            "widened": forecast.judged.at(forecast.ratio),
            "judged": forecast.judged.forecasts,
            "judged_curves": forecast.judged.curves,
            "judged_ahead": forecast.judged.ahead,
        }


def crossings_table(forecast: Forecast | None) -> Table:
    """Return the pairs of arms that cross before the budget with probability above 0.5, with the tokens there."""
    columns = "now_better then_better probability tokens tokens_low tokens_high"
    return table("crossings", columns, () if forecast is None else _crossings(forecast))


def _crossings(forecast: Forecast) -> Iterator[Row]:
    for first_arm, second_arm in combinations(forecast.arms, 2):
        better_now, worse_now = sorted((first_arm, second_arm), key=lambda arm: (arm.loss, arm.arm))
        overtaken = better_now.draws > worse_now.draws
        overtaken[:, 0] = False  # the order at the last measured point is known
        crosses = overtaken.any(axis=1)
        if np.mean(crosses & overtaken[:, -1]) <= 0.5:
            continue
        at = forecast.tokens[overtaken[crosses].argmax(axis=1)]
        low, median, high = np.quantile(at, ((1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2))
        yield {
            "now_better": better_now.arm,
            "then_better": worse_now.arm,
            "probability": float(np.mean(crosses & overtaken[:, -1])),
            "tokens": round(float(median)),
            "tokens_low": round(float(low)),
            "tokens_high": round(float(high)),
        }


def forecast_grids(forecast: Forecast | None, decimals: int) -> Iterator[Grid]:
    """Yield the forecasts as grids, titled as forecasts."""
    if forecast is None or not forecast.arms:
        return
    budget = short(round(float(forecast.tokens[-1])))
    columns = [Column("arm", numeric=False), Column("measured"), Column("forecast [90%]"), Column("Δ [90%]")]
    rows = (_cells(row, decimals) for row in _rows(forecast))
    title = f"Forecast, not measured: held-out loss at {budget} tokens"
    forecast_grid = grid("forecast", title, [*columns, Column("better than the baseline")], rows)
    yield with_notes(forecast_grid, [forecast_note(forecast)])
    crossings = list(_crossings(forecast))
    if crossings:
        columns = [
            Column("better now", numeric=False),
            Column("better at the budget", numeric=False),
            Column("probability"),
        ]
        cells = (
            [str(row["now_better"]), str(row["then_better"]), f"{row['probability']:.2f}", _when(row)]
            for row in crossings
        )
        yield grid(
            "crossings",
            f"Forecast, not measured: arms that cross before {budget} tokens",
            [*columns, Column("at [90%]")],
            cells,
        )


def _cells(row: Row, decimals: int) -> list[str]:
    value = {name: float(entry) for name, entry in row.items() if isinstance(entry, int | float)}
    loss = f"{fixed(value['loss'], decimals)} [{fixed(value['low'], decimals)}, {fixed(value['high'], decimals)}]"
    measured = f"{fixed(value['loss_seen'], decimals)} at {short(int(value['tokens_seen']))} ({row['n']})"
    if "delta" not in value:
        return [str(row["arm"]), measured, loss, NOTHING, NOTHING]
    delta, low, high = (signed(value[name], decimals) for name in ("delta", "delta_low", "delta_high"))
    return [str(row["arm"]), measured, loss, f"{delta} [{low}, {high}]", f"probability {value['better']:.2f}"]


def _when(row: Row) -> str:
    median, low, high = (short(int(str(row[name]))) for name in ("tokens", "tokens_low", "tokens_high"))
    return f"{median} [{low}, {high}]"


def forecast_note(forecast: Forecast) -> str:
    """Return the note on the calibration of the forecasts."""
    judged, ratio = forecast.judged, forecast.ratio
    count = f"{judged.forecasts} forecasts of {judged.curves} curves"
    horizon = (
        f"up to {judged.ahead:.2g} times the tokens seen" if judged.forecasts else "none: the curves are too short"
    )
    beyond = ratio > judged.ahead * (1 + 1e-9)
    untested = " Beyond that horizon the width grows as for a random walk; it was not tested there." if beyond else ""
    return (
        f"Forecasts extrapolate each curve by a power law with a floor to {ratio:.2g} times the tokens seen. Their "
        f"90% intervals are calibrated on the hidden ends of the recorded curves ({count}; {horizon}) and are "
        f"{judged.at(ratio):.2f} times as wide as the law's own.{untested}"
    )


def _content(evidence: Evidence) -> Content:
    forecast = evidence.forecast
    return Content(
        (forecast_table(forecast), crossings_table(forecast)),
        tuple(forecast_grids(forecast, evidence.results.decimals(LOSS))),
    )


SECTION = Section("forecast", _content)
