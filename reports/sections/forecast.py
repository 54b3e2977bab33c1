"""Forecasts: arms at the end of their own budget, arms at a larger budget, and which pairs of them cross before it.

Each states its method, whether its interval is calibrated, and on how many curves; without calibration there is no
interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from configuration.arm import BASELINE
from foundation.schema import JsonValue
from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, counted, fixed, short, signed
from reports.section import Content, Section, with_rows
from reports.statistics.backtest import COVERAGE, band
from reports.statistics.end_forecasts import EndForecast
from reports.statistics.evidence import Evidence
from reports.statistics.forecast import LOSS, Forecast
from reports.table import Row, Table, number, table

COLUMNS = (
    "arm n tokens_seen loss_seen tokens loss low high delta delta_low delta_high better "
    "widened judged judged_curves judged_ahead method calibrated coverage coverage_low coverage_high"
)
END_COLUMNS = "arm n tokens_seen loss_seen loss low high method calibrated judged judged_arms stopped"
METHOD, NOT_CALIBRATED = "power law", "not calibrated"


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
        found = forecast.judged
        limits: Mapping[str, float | None] = {"low": middle - half, "high": middle + half}
        if not found.calibrated:
            limits = dict.fromkeys(limits)
            beside = {name: value if name == "delta" else None for name, value in beside.items()}
        yield {
            "arm": arm.arm,
            "n": arm.n,
            "tokens_seen": arm.seen,
            "loss_seen": arm.loss,
            "tokens": round(float(forecast.tokens[-1])),
            "loss": middle,
            **limits,
            **beside,
            "widened": found.at(forecast.ratio),
            "judged": found.forecasts,
            "judged_curves": found.curves,
            "judged_ahead": found.ahead,
            "method": METHOD,
            "calibrated": found.calibrated,
            **dict(zip(("coverage", "coverage_low", "coverage_high"), found.coverage or (None,) * 3, strict=True)),
        }


def crossings_table(forecast: Forecast | None) -> Table:
    """Return the pairs of arms that more likely than not change places before the budget, with when."""
    columns = "now_better then_better probability tokens tokens_low tokens_high"
    return table("crossings", columns, () if forecast is None else _crossings(forecast))


def end_table(found: Sequence[EndForecast]) -> Table:
    """Return the forecasts of arms without a finished trial at the end of their own budget."""
    return table("forecast_ends", END_COLUMNS, map(_end_row, found))


def _end_row(one: EndForecast) -> Row:
    return {
        "arm": one.arm,
        "n": one.n,
        "tokens_seen": one.seen,
        "loss_seen": one.loss,
        "loss": one.end,
        "low": None if one.reach is None else one.end - one.reach,
        "high": None if one.reach is None else one.end + one.reach,
        "method": one.method,
        "calibrated": one.reach is not None,
        "judged": one.judged,
        "judged_arms": one.arms,
        "stopped": one.stopped,
    }


def _crossings(forecast: Forecast) -> Iterator[Row]:
    if not forecast.judged.calibrated:
        return
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
    start = [str(row["arm"]), _measured(row, decimals), _loss(row, decimals)]
    if "delta" not in value:
        return [*start, NOTHING, NOTHING]
    if not row["calibrated"]:
        return [*start, f"{signed(value['delta'], decimals)}, {NOT_CALIBRATED}", NOTHING]
    delta, low, high = (signed(value[name], decimals) for name in ("delta", "delta_low", "delta_high"))
    return [*start, f"{delta} [{low}, {high}]", f"probability {value['better']:.2f}"]


def _measured(row: Row, decimals: int) -> str:
    return f"{fixed(_real(row['loss_seen']), decimals)} at {short(int(_real(row['tokens_seen'])))} ({row['n']})"


def _loss(row: Row, decimals: int) -> str:
    """Return the forecast with its interval, or that there is none."""
    if not row["calibrated"]:
        return f"{fixed(_real(row['loss']), decimals)}, {NOT_CALIBRATED}"
    loss, low, high = (fixed(_real(row[name]), decimals) for name in ("loss", "low", "high"))
    return f"{loss} [{low}, {high}]"


def _real(cell: JsonValue) -> float:
    value = number(cell)
    assert value is not None
    return value


def _when(row: Row) -> str:
    middle, low, high = (short(int(str(row[name]))) for name in ("tokens", "tokens_low", "tokens_high"))
    return f"{middle} [{low}, {high}]"


def forecast_note(forecast: Forecast) -> str:
    """Return the method of the forecasts, whether they are calibrated, and on what."""
    found, ratio = forecast.judged, forecast.ratio
    method = (
        f"Forecasts extrapolate each mean curve by a power law with a floor to {ratio:.2g} times the tokens seen; a "
        f"learning rate that has fallen to 0 by then says little of a longer schedule."
    )
    count = f"{counted(found.forecasts, 'hidden end')} of {counted(found.curves, 'curve')}"
    if not found.calibrated:
        too_few = "is" if found.forecasts == 1 else "are"
        return f"{method} Not calibrated: {count} {too_few} too few for a 90% interval."
    beyond = "; beyond, intervals grow as a random walk's would, uncalibrated" if found.beyond(ratio) else ""
    held = ""
    if found.coverage is not None:
        share, low, high = found.coverage
        held = f" Intervals widened by the other curves hold {share:.0%} [{low:.0%}, {high:.0%}] of a curve's ends."
    return (
        f"{method} Calibrated on {count}, up to {found.ahead:.2g} times the tokens seen, by which the 90% intervals "
        f"are {found.at(ratio):.2f} times as wide{beyond}.{held}"
    )


def end_grids(found: Sequence[EndForecast], decimals: int) -> Iterator[Grid]:
    """Yield the forecasts at the end of their own budget as people read them."""
    if not found:
        return
    columns = [
        Column("arm", numeric=False),
        Column("measured"),
        Column("forecast [90%]"),
        Column("method", numeric=False),
    ]
    rows = (
        [
            one.arm,
            _measured(row, decimals),
            _loss(row, decimals),
            f"{one.method} ({counted(one.judged, 'curve')}, {counted(one.arms, 'arm')})",
        ]
        for one, row in ((one, _end_row(one)) for one in found)
    )
    title = "Forecast, not measured: held-out loss at the end of the budget of arms that have not reached it"
    yield with_notes(grid("forecast_ends", title, columns, rows), _end_notes(found))


def _end_notes(found: Sequence[EndForecast]) -> Iterator[str]:
    yield (
        "Method: the one with the smallest error on the finished curves of the same recipe, each with its own arm "
        "left out; the interval is the 90% quantile of those errors by rank (jackknife), and there is none where the "
        "curves are too few."
    )
    if any(one.stopped for one in found):
        yield "Arms that a hurdle stopped are worse than those that finished, by which the intervals are calibrated."


def _content(evidence: Evidence) -> Content:
    forecast, decimals = evidence.forecast, evidence.results.decimals(LOSS)
    ends = evidence.end_forecasts
    return Content(
        (forecast_table(forecast), crossings_table(forecast), *with_rows(end_table(ends))),
        (*end_grids(ends, decimals), *forecast_grids(forecast, decimals)),
    )


SECTION = Section("forecast", _content)
