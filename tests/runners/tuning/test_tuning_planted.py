"""A planted advantage: an arm that is better only because the shared learning rate suits it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.report import Report, build
from tests.factories.tuning_runs import SHARED_RATE, best_at, ran, tuned

NARROW = '"bottleneck_ratio":2'


def reported(folder: Path, rates: dict[str, float]) -> tuple[Report, dict[str, Any]]:
    """Return the report of a tuned table through the real course, and its rows of both differences by arm."""
    table = tuned(folder, pretraining={"tokens": 2560, "seeds": [1, 2, 3, 4, 5]})
    found = ran(folder, table, answer=best_at(rates, 0.02), publishes=False, ledger_path=Path(":memory:"))
    report = build(replace(found, document=table.model_dump(mode="json"), labels=("pretrain@2560",)))
    (rows,) = (one.rows for one in report.tables if one.name == "tuned")
    return report, {str(row["arm"]): row for row in rows}


def test_the_arm_is_better_at_the_shared_recipe_only(tmp_path: Path) -> None:
    report, rows = reported(tmp_path, {NARROW: SHARED_RATE, "": 3e-3})
    narrow = rows["narrow"]
    assert (narrow["shared_verdict"], narrow["own_verdict"]) == ("helps", "undecided")
    assert narrow["shared_delta"] == pytest.approx(-3.2, abs=0.05)  # -log(3e-3 / 5e-4)^2
    assert narrow["own_low"] < 0 < narrow["own_high"]
    assert (narrow["recipe"], rows["dynamic"]["recipe"]) == ("shared", "peak_learning_rate=0.003")
    shared, _, own = report.finding.partition(" With every arm at its own recipe: ")
    assert "narrow has the best mean and is significantly better than the baseline" in shared
    assert "differ significantly" in own


def test_where_the_shared_rate_suits_all_arms_tuning_changes_nothing(tmp_path: Path) -> None:
    report, rows = reported(tmp_path, {"": SHARED_RATE})
    parts = ("n", "delta", "low", "high", "p", "p_adjusted", "verdict")
    assert rows
    for row in rows.values():
        assert [row[f"own_{part}"] for part in parts] == [row[f"shared_{part}"] for part in parts]
    assert report.finding.endswith("For every arm tuning selected the shared recipe.")
