"""Raw and budget-matched differences, each paired with the baseline by seed."""

from dataclasses import replace

import pytest

from reports.report import Report, build
from tests.factories.reports import Trial, document, primary, snapshot

LOSSES = {
    "baseline": (4.0, 4.1, 4.2),
    "small": (4.5, 4.6, 4.9),
    "small (matched)": (3.9, 4.1, 4.0),
    "level": (4.0, 4.2, 4.1),
}


def report(copies: dict[str, str]) -> Report:
    trials = [Trial(arm, seed).pretrained(loss) for arm, row in LOSSES.items() for seed, loss in enumerate(row, 1)]
    arms = {arm: {} if arm == "baseline" else {"heads": at + 1} for at, arm in enumerate(LOSSES)}
    view = snapshot(trials, arms)
    rows = tuple(replace(arm, matched_arm=copies.get(arm.name)) for arm in view.arms)
    return build(replace(view, arms=rows), primary=primary)


def test_each_arm_with_a_copy_has_the_difference_of_the_copy() -> None:
    tables = {table.name: table for table in report({"small": "small (matched)", "level": "level"}).tables}
    shown = {row["arm"]: row for row in tables["results"].rows}
    for arm, copy in {"small": "small (matched)", "level": "level"}.items():
        matched = [shown[arm][f"matched_{part}"] for part in ("delta", "low", "high")]
        assert matched == [shown[copy][part] for part in ("delta", "low", "high")]
        assert shown[arm]["matched_n"] == 3
    assert shown["small"]["matched_delta"] == pytest.approx(-0.3 / 3)


def shared_copy() -> Report:
    """Return two arms with one copy, as ledgers with named copies have it."""
    trials = [Trial(arm, seed).pretrained(loss) for arm, row in LOSSES.items() for seed, loss in enumerate(row, 1)]
    arms = {arm: {} if arm == "baseline" else {"heads": at + 1} for at, arm in enumerate(LOSSES)}
    match = {"budget": "parameters", "by": "feed_forward_width", "tolerance": 0.02}
    view = snapshot(trials, arms, resolved=document(match=match))
    spends = {"small": 0.99, "level": 0.99}
    rows = tuple(
        replace(
            arm, matched_arm="small (matched)" if arm.name in spends else None, matched_spend=spends.get(arm.name)
        )
        for arm in view.arms
    )
    return build(replace(view, arms=rows), primary=primary)


def test_the_main_table_has_both_differences_side_by_side_and_what_the_copy_spends() -> None:
    report = shared_copy()
    grids, tables = {grid.name: grid for grid in report.grids}, {table.name: table for table in report.tables}
    titles = [column.title for column in grids["results"].columns]
    assert titles[titles.index("Δ [95%]") + 1] == "matched Δ [95%] (n)"
    cells = {row[0].text: [cell.text for cell in row] for row in grids["results"].rows}
    for arm in ("small", "level"):  # one copy for both arms
        assert cells[arm][titles.index("matched Δ [95%] (n)")].startswith("−0.10")
        assert cells[arm][titles.index("copy's budget")] == "12.9M (−1.00%)"
    assert cells["small (matched)"][titles.index("matched Δ [95%] (n)")] == "–"
    rows = {row["arm"]: row for row in tables["results"].rows if row["metric"] == "held_out_loss"}
    assert (rows["level"]["matched_arm"], rows["level"]["matched_spend"]) == ("small (matched)", 0.99)
    assert rows["baseline"]["matched_arm"] is None
    assert rows["small"]["matched_delta"] == rows["small (matched)"]["delta"]
    (note_text,) = [note for note in report.notes if note.startswith("matched Δ")]
    assert "feed forward width is chosen so that its parameters are within 2% of the baseline's" in note_text
    assert "may share one copy" in note_text


def test_without_copies_the_main_table_has_no_such_columns() -> None:
    plain = report({})
    assert "copy's budget" not in [column.title for column in plain.grids[0].columns]
    assert "matched_arm" not in plain.tables[0].columns


def test_the_footer_names_the_points_that_were_left_out() -> None:
    view = snapshot([Trial("baseline", 1).pretrained(4.0)], {"baseline": {}})
    left_out = tuple((f"point-{at}", "too wide") for at in range(5))
    notes = dict(build(replace(view, impossible=left_out), primary=primary).footer)
    text = "5: point-0: too wide; point-1: too wide; point-2: too wide; …"
    assert notes["Impossible points left out"] == text
    assert "Impossible points left out" not in dict(build(view, primary=primary).footer)
