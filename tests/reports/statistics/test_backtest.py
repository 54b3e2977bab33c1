"""Forecasts: what is planted comes back, intervals hold what was hidden, and nothing is said without curves."""

from statistics import fmean

import numpy as np
import pytest

from analysis.power_law import PowerLaw
from reports.report import Report, build
from reports.statistics.backtest import POINTS_KEPT, Widening, error_of, widening, worth_of
from reports.table import Row
from runners.replay.curves.reading import read_curves
from tests.factories.published_data import published
from tests.factories.reports import Trial, document, snapshot

SHARES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
Curves = dict[str, dict[int, float]]
TOKENS = 1_000_000


def power_laws(count: int, noise: float = 0.02) -> Curves:
    random = np.random.default_rng(7)
    at = np.linspace(1, 30, 30) / 30
    curves = {}
    for number in range(count):
        floor, scale, exponent = random.uniform((1, 0.5, 0.1), (4, 3, 0.8))
        values = floor + scale * at**-exponent + random.normal(0, noise, 30)
        curves[str(number)] = {round(tokens * TOKENS): float(v) for tokens, v in zip(at, values, strict=True)}
    return curves


def two_paces(count: int) -> Curves:
    """Return curves that follow no power law: two exponential decays."""
    random = np.random.default_rng(8)
    at = np.linspace(1, 30, 30) / 30
    curves = {}
    for number in range(count):
        floor, scale = random.uniform((1, 0.5), (4, 3))
        values = floor + scale * np.exp(-at / 0.3) + 0.3 * scale * np.exp(-at / 2) + random.normal(0, 0.02, 30)
        curves[str(number)] = {round(tokens * TOKENS): float(v) for tokens, v in zip(at, values, strict=True)}
    return curves


def wandering(count: int) -> Curves:
    """Return power laws whose misfit wanders: what a curve is off by now it is mostly off by at the next point."""
    random = np.random.default_rng(9)
    curves = power_laws(count, noise=0.01)
    for curve in curves.values():
        off = 0.0
        for tokens in curve:
            off = 0.7 * off + random.normal(0, 0.02)
            curve[tokens] += off
    return curves


def recorded(path: str, candidates: int) -> Curves:
    """Return curves of the first recorded candidates, by steps in thousandths."""
    (task,) = read_curves(published(f"curves/{path}"))
    best = np.argsort(task.values[:, -1])[:candidates]
    return {
        task.candidates[place]: {
            round(1000 * step): value
            for step, value in zip(task.steps, task.values[place].tolist(), strict=True)
            if step > 0
        }
        for place in sorted(best.tolist())
    }


def covered(curves: Curves, share: float) -> tuple[int, int]:
    """Return how many of the hidden last points lie in their intervals, and how many there are."""
    cut = {name: sorted(curve)[: len(curve) - max(1, round(len(curve) * share))] for name, curve in curves.items()}
    seen = {name: {tokens: curves[name][tokens] for tokens in cut[name]} for name in curves}
    ratio = min(max(curves[name]) / max(seen[name]) for name in curves)
    judged = widening(seen, ratio)
    assert judged.curves == len(curves) <= judged.forecasts
    assert judged.ahead <= ratio
    widened = judged.at(ratio)
    errors = [error_of(name, seen[name], max(curves[name]), curves[name][max(curves[name])]) for name in curves]
    return sum(error is not None and error <= widened for error in errors), len(errors)


@pytest.mark.parametrize("family", [power_laws, two_paces, wandering])
def test_nine_in_ten_hidden_ends_lie_in_their_intervals(family: object) -> None:
    curves = family(60)  # type: ignore[operator]
    counts = [covered(curves, share) for share in SHARES]
    assert 0.85 <= fmean(inside / count for inside, count in counts) <= 0.97


def test_further_than_was_judged_intervals_grow() -> None:
    judged = widening(power_laws(12), 50.0)
    assert judged.ahead == pytest.approx(30 / POINTS_KEPT, rel=1e-4)
    assert judged.at(judged.ahead) == judged.at(1.5) == judged.times
    assert judged.at(judged.ahead**4) == pytest.approx(max(1.0, judged.times) * 2)


def test_few_forecasts_never_make_intervals_narrower() -> None:
    few = dict(list(power_laws(12, noise=1e-9).items())[:2])
    assert widening(few, 1.5).times >= 1.0


def test_errors_of_one_curve_count_by_how_alike_they_are() -> None:
    random = np.random.default_rng(3)
    apart = random.normal(size=(40, 4))
    alike = np.repeat(apart[:, :1], 4, axis=1) + 1e-6 * apart
    assert worth_of(alike.tolist()) == pytest.approx(40, rel=0.02)
    assert worth_of(apart.tolist()) > 120
    assert worth_of([[1.0], [2.0], [3.0]]) == 3
    assert worth_of([[1.0, 2.0, 3.0]]) == 1


def test_the_ends_of_the_long_runs_lie_in_their_intervals() -> None:
    curves = recorded("flexibert/BERT_benchmark_train_ablation.json", 15)
    counts = [covered(curves, share) for share in SHARES]
    assert len(curves) == 15
    assert 0.85 <= fmean(inside / count for inside, count in counts) <= 0.95


@pytest.mark.parametrize("task", ["patch128_LSTM128_avg_bs64", "patch32_GRU64_avg_bs128", "patch32_LSTM128_bs128"])
def test_the_ends_of_recorded_trainings_lie_in_their_intervals(task: str) -> None:
    curves = recorded(f"taskset/FixedTextRNNClassification_imdb_{task}.json.xz", 36)
    counts = [covered(curves, share) for share in (0.15, 0.4)]
    assert fmean(inside / count for inside, count in counts) >= 0.85


def test_a_law_without_noise_is_found_far_ahead() -> None:
    at = np.linspace(0.1, 1, 20)
    law = PowerLaw.fit(at * 1e6, 2 + 1.5 * at**-0.35, "exact")
    assert law is not None
    assert np.median(law.at(np.array([1e7]))) == pytest.approx(2 + 1.5 * 10**-0.35, abs=0.05)


def test_more_is_less_known_the_further_it_is() -> None:
    (curve,) = power_laws(1).values()
    law = PowerLaw.fit(np.array(list(curve), dtype=float), np.array(list(curve.values())), "wide")
    assert law is not None
    spreads = law.at(np.array([1e6, 1e7, 1e9])).std(axis=0)
    assert spreads[0] < spreads[1] < spreads[2]


def test_too_few_points_make_no_law() -> None:
    assert PowerLaw.fit(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.5]), "short") is None
    assert widening({"short": {1: 3.0, 2: 2.0}}, 2.0) == Widening()
    assert widening({}, 2.0) == Widening()


def curved(arm: str, seed: int, floor: float, scale: float, exponent: float) -> Trial:
    random = np.random.default_rng([seed, len(arm)])
    at = np.linspace(1, 24, 24) / 24
    values = floor + scale * at**-exponent + random.normal(0, 0.003, 24)
    points = [[round(tokens * 2 * TOKENS), float(v)] for tokens, v in zip(at, values, strict=True)]
    result = {"tokens": 2 * TOKENS, "held_out_loss": points[-1][1], "held_out_curve": points, "train_curve": []}
    return Trial(arm, seed).record("pretrain", f"pretrain@{2 * TOKENS}", result)


def forecast_report(tokens: int = 40 * TOKENS, seeds: int = 8) -> Report:
    trials = [curved("baseline", seed, 3.0, 2.0, 0.5) for seed in range(1, seeds + 1)]
    trials += [curved("quick", seed, 4.4, 0.4, 0.3) for seed in range(1, seeds + 1)]
    resolved = document(seeds=range(1, seeds + 1), forecast={"tokens": tokens})
    return build(snapshot(trials, arms={"baseline": {}, "quick": {"width": 512}}, resolved=resolved))


def rows(report: Report, name: str) -> tuple[Row, ...]:
    return next(table for table in report.tables if table.name == name).rows


def test_a_quick_starter_is_foretold_to_be_overtaken() -> None:
    (found,) = rows(forecast_report(), "crossings")
    assert (found["now_better"], found["then_better"]) == ("quick", "baseline")
    low, high = found["tokens_low"], found["tokens_high"]
    assert isinstance(low, int)
    assert isinstance(high, int)
    assert 2 * TOKENS < low <= high < 40 * TOKENS  # 3 + 2 r^-0.5 = 4.4 + 0.4 r^-0.3 at r = 1.27
    assert low < 2 * 1.27 * TOKENS < high
    baseline, quick = rows(forecast_report(), "forecast")
    assert baseline["low"] < 3 + 2 / 20**0.5 < baseline["high"]  # type: ignore[operator]
    assert quick["better"] == pytest.approx(0, abs=0.05)


def test_forecasts_are_always_marked_as_such() -> None:
    report = forecast_report()
    titles = [grid.title for grid in report.grids if grid.name in ("forecast", "crossings")]
    assert len(titles) == 2
    assert all(title.startswith("Forecast") for title in titles)
    assert any(note.startswith("Forecasts extrapolate") for note in report.notes)


def test_a_forecast_names_its_method_and_the_coverage_of_its_calibration() -> None:
    row = rows(forecast_report(), "forecast")[0]
    assert (row["method"], row["calibrated"], row["judged_curves"]) == ("power law", True, 16)
    low, share, high = (row[name] for name in ("coverage_low", "coverage", "coverage_high"))
    assert 0 <= low <= share <= high <= 1  # type: ignore[operator]


def test_without_enough_curves_to_calibrate_on_there_is_no_interval() -> None:
    report = forecast_report(seeds=1)
    for row in rows(report, "forecast"):
        assert row["calibrated"] is False
        assert row["low"] is row["high"] is row["delta_low"] is row["better"] is None
        assert isinstance(row["loss"], float)
    assert not rows(report, "crossings")
    (grid,) = [grid for grid in report.grids if grid.name == "forecast"]
    shown = " ".join(cell.text for row in grid.rows for cell in row)
    assert "not calibrated" in shown
    assert "[" not in shown
    assert any("Not calibrated" in note for note in report.notes)
    (curves,) = [picture for picture in report.pictures if picture.name == "curves"]
    assert all(row["low"] is None for row in curves.numbers.rows if row["forecast"])


def unfinished(arm: str, offset: float, points: int) -> Trial:
    at = np.linspace(1, 8, 8) / 8
    losses = 4 + offset - at[:points]
    tokens = [round(each * TOKENS * 2) for each in at[:points]]
    curve = [[t, float(loss)] for t, loss in zip(tokens, losses, strict=True)]
    result = {"tokens": tokens[-1], "held_out_loss": curve[-1][1], "held_out_curve": curve, "train_curve": []}
    return Trial(arm, 1).record("pretrain", f"pretrain@{tokens[-1]}", result)


def ends_report(finished: int) -> Report:
    arms = {
        "baseline": {},
        **{f"arm{n}": {"heads": 2 ** (n % 3)} for n in range(1, finished)},
        "stopped": {"depth": 2},
    }
    trials = [unfinished(name, 0.1 * place, 8) for place, name in enumerate(arms) if name != "stopped"]
    trials.append(unfinished("stopped", 0.7, 5).judged(0, False, 4.0, 3.5))
    return build(snapshot(trials, arms=arms, resolved=document(seeds=(1,), forecast={"tokens": 2 * TOKENS})))


def test_an_arm_that_was_stopped_is_forecast_at_its_own_budget_from_those_that_ended() -> None:
    report = ends_report(10)
    (row,) = rows(report, "forecast_ends")
    assert (row["arm"], row["calibrated"], row["judged"], row["stopped"]) == ("stopped", True, 10, True)
    assert row["loss"] == pytest.approx(3.7)
    assert row["low"] <= 3.7 + 1e-9  # type: ignore[operator]
    assert not rows(report, "forecast")
    assert any("Arms that a hurdle stopped" in note for note in report.notes)


def test_eight_ended_curves_are_too_few_for_its_interval() -> None:
    (row,) = rows(ends_report(8), "forecast_ends")
    assert row["calibrated"] is False
    assert row["low"] is row["high"] is None


def test_nothing_is_foretold_that_was_not_asked_for() -> None:
    trials = [curved("baseline", seed, 3.0, 2.0, 0.5) for seed in (1, 2, 3)]
    report = build(snapshot(trials, arms={"baseline": {}}))
    assert not rows(report, "forecast")
    assert not [grid for grid in report.grids if grid.name == "forecast"]


def test_a_forecast_is_the_same_every_time() -> None:
    assert rows(forecast_report(), "forecast") == rows(forecast_report(), "forecast")
