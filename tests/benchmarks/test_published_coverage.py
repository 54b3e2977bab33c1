"""The coverage in `docs/statistics.md` for the published search is that of its published ledger."""

from statistics import fmean

import numpy as np

from benchmarks.forecast_coverage import SHARES, coverage
from ledger.csv_export import read_export
from ledger.records import curve_of
from reports.statistics.backtest import Curve
from tests.factories.paths import ROOT

END = 18_000_000


def curves() -> dict[str, Curve]:
    """Return the mean curve over seeds of every candidate that was trained to the end."""
    trials: dict[str, dict[int, float]] = {}
    for record in read_export(ROOT / "reports" / "published" / "search-laptop").records():
        if record.stage == "pretrain" and record.trial:
            trials.setdefault(record.trial, {}).update(curve_of(record))
    whole = {trial: curve for trial, curve in trials.items() if max(curve) >= END}
    arms = sorted({trial.partition("/")[0] for trial in whole})
    of_arm = {arm: [curve for trial, curve in whole.items() if trial.startswith(f"{arm}/")] for arm in arms}
    return {arm: {at: fmean(curve[at] for curve in several) for at in several[0]} for arm, several in of_arm.items()}


def test_the_documented_coverage_is_that_of_the_ledger() -> None:
    found = curves()
    assert {len(curve) for curve in found.values()} == {9}
    held = np.array([[inside for inside, _ in coverage(found, share)] for share in SHARES]).mean(axis=0)
    chance = np.random.default_rng(0)
    drawn = [held[chance.integers(len(held), size=len(held))].mean() for _ in range(10_000)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    told = f"**{100 * held.mean():.1f}%** [{100 * low:.0f}%, {100 * high:.0f}%]"
    row = next(
        line for line in (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines() if told in line
    )
    assert "not calibrated: 9 points a curve" in row
    assert f"all {len(found)} curves" in row
