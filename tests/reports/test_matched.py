"""Raw and matched differences stand side by side, each paired with the baseline by seed."""

from dataclasses import replace

import pytest
from building import Trial, primary, snapshot

from reports.report import Report, build

LOSSES = {
    "baseline": (4.0, 4.1, 4.2),
    "small": (4.5, 4.6, 4.9),
    "small (matched)": (3.9, 4.1, 4.0),
    "level": (4.0, 4.2, 4.1),
}


def report(matches: dict[str, str]) -> Report:
    trials = [Trial(arm, seed).pretrained(loss) for arm, row in LOSSES.items() for seed, loss in enumerate(row, 1)]
    arms = {arm: {} if arm == "baseline" else {"heads": at + 1} for at, arm in enumerate(LOSSES)}
    found = snapshot(trials, arms)
    rows = tuple(replace(arm, matches=matches.get(arm.name)) for arm in found.arms)
    return build(replace(found, arms=rows), primary=primary)


def test_each_arm_with_a_twin_has_both_differences_as_the_main_table_has_them() -> None:
    tables = {table.name: table for table in report({"small (matched)": "small", "level": "level"}).tables}
    rows = tables["matched"].rows
    assert [(row["arm"], row["twin"]) for row in rows] == [("small", "small (matched)"), ("level", "level")]
    shown = {(row["arm"], row["metric"]): row for row in tables["results"].rows}
    for row in rows:
        for side, arm in (("raw", row["arm"]), ("matched", row["twin"])):
            whole = shown[arm, row["metric"]]
            assert [row[f"{side}_{part}"] for part in ("delta", "low", "high")] == [
                whole[part] for part in ("delta", "low", "high")
            ]
            assert row[f"{side}_n"] == 3
    assert rows[0]["raw_delta"] == pytest.approx(1.7 / 3)
    assert rows[0]["matched_delta"] == pytest.approx(-0.3 / 3)


def test_the_two_differences_are_read_in_one_line() -> None:
    grids = {grid.name: grid for grid in report({"small (matched)": "small"}).grids}
    grid = grids["matched"]
    assert [column.title for column in grid.columns] == ["arm", "metric", "raw", "matched"]
    assert grid.columns[2].group == grid.columns[3].group == "Δ [95%] (n)"  # they stay together, however narrow
    (row,) = grid.rows
    assert row[2].text.startswith("+0.57")
    assert row[3].text.startswith("−0.10")


def test_an_experiment_without_twins_has_no_such_table() -> None:
    assert "matched" not in {table.name for table in report({}).tables}


def test_the_footer_names_the_points_that_were_left_out() -> None:
    found = snapshot([Trial("baseline", 1).pretrained(4.0)], {"baseline": {}})
    left_out = tuple((f"point-{at}", "too wide") for at in range(5))
    notes = dict(build(replace(found, impossible=left_out), primary=primary).footer)
    told = "5: point-0: too wide; point-1: too wide; point-2: too wide; …"
    assert notes["Impossible points left out"] == told
    assert "Impossible points left out" not in dict(build(found, primary=primary).footer)
