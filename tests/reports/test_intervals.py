"""Number of intervals in a report: its conditions agree with the rendered text; intervals of two seeds are marked."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from reports.formats import render
from reports.formats.terminal import draw
from reports.report import Report, build
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.reports import Trial, document, primary, search, snapshot, table2, troubled, tuned

NUMBER = r"[+−]?\d+(?:\.\d+)?"
INTERVAL = re.compile(rf"\[{NUMBER}, {NUMBER}\]")
STATED = re.compile(r"the tables of this report show (\d+) intervals of a difference or ratio at 95%")
ARMS = {"baseline": {}, "two": {"heads": 2}, "narrow": {"width": 128}, "both": {"heads": 2, "width": 128}}
TASKS = ("docs_pair", "docs_acceptability")


def everything() -> Snapshot:
    """A crossed table with claims, a matched copy, attention readings and a diverged seed."""
    trials = []
    for position, arm in enumerate(ARMS):
        for seed in (1, 2, 3):
            if (arm, seed) == ("two", 3):
                trials.append(Trial(arm, seed).diverged())
                continue
            noise = 0.01 * ((seed + position) * (position + 2) % 5)
            trial = Trial(arm, seed).pretrained(6.0 - 0.2 * position + noise)
            heads = [[0, head, 0.4 + position / 20 + noise, 0.6 - noise, 0.2, 0.6] for head in (0, 1)]
            looked = {"length": 64, "within": 4, "sequences": 16, "heads": heads, "maps": []}
            trial.record("attention", "attention", looked)
            for task in TASKS:
                trial.tuned(task, 1, **{primary(task): 60.0 + position + 20 * noise})
            trials.append(trial)
    claims = ["held_out_loss(both) < held_out_loss(two)", "score(both) ~ score(narrow) within 5"]
    resolved = document(TASKS, claims=claims, fine_tuning={"tasks": list(TASKS), "seeds": [1]})
    view = snapshot(trials, ARMS, TASKS, tuning_seeds=(1,), resolved=resolved)
    rows = tuple(replace(arm, matched_arm="narrow" if arm.name == "two" else None) for arm in view.arms)
    return replace(view, arms=rows)


def intervals_in_tables(report: Report) -> int:
    text = render(report, "markdown").replace("\\", "")
    return sum(len(INTERVAL.findall(line)) for line in text.splitlines() if line.startswith("|"))


def stated(report: Report) -> int:
    result = STATED.search(dict(report.footer).get("Intervals", ""))
    return int(result[1]) if result else 0


@pytest.mark.parametrize("view", [everything, table2, troubled, tuned, search])
def test_the_conditions_count_every_interval_that_the_tables_show(view: Callable[[], Snapshot]) -> None:
    report = build(view(), primary=primary)
    assert stated(report) == intervals_in_tables(report) == sum(grid.intervals for grid in report.grids)


def test_the_view_of_everything_has_every_table_with_intervals() -> None:
    report = build(everything(), primary=primary)
    with_intervals = {grid.name for grid in report.grids if grid.intervals}
    expected = {"results", "attention_diagonal", "factors main", "factors interaction", "claims"}
    assert with_intervals == expected | {"isolated", "shapley", "tokens_to_loss"}
    assert stated(report) > 40
    assert {grid.name for grid in build(tuned()).grids if grid.intervals} >= {"tuned"}


def test_an_interval_of_two_seeds_is_marked_and_explained() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0) for seed in (1, 2)]
    trials += [Trial("wide", seed).pretrained(6.0 - loss) for seed, loss in ((1, 0.1), (2, 0.1001))]
    arms = {"baseline": {}, "wide": {"width": 512}}
    two = build(snapshot(trials, arms, resolved=document(seeds=(1, 2))))
    assert "n = 2, few degrees of freedom" in two.finding
    for form in ("markdown", "latex", "html"):
        assert "†: two seeds: the standard deviation" in render(two, form).replace("\\", "")
    shown = [cell.text for grid in two.grids for row in grid.rows for cell in row if cell.intervals]
    assert shown
    assert all("†" in text for text in shown)
    three = [*trials, Trial("baseline", 3).pretrained(6.0), Trial("wide", 3).pretrained(5.91)]
    assert "†" not in draw(build(snapshot(three, arms, resolved=document(seeds=(1, 2, 3)))), 100, colour=False)
