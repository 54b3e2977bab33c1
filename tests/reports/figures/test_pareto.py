"""Points of the front are not dominated, all others are; drawn values are the measured ones."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reports.report import build
from reports.statistics.objectives import front
from tests.factories.read_reports import picture, rows_of
from tests.factories.reports import Trial, document, search_design, snapshot

POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=12)


def beats(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


@given(POINTS)
def test_the_front_is_the_set_of_non_dominated_points(points: list[tuple[int, int, int]]) -> None:
    best = front(points)
    assert list(best) == [
        position for position, one in enumerate(points) if not any(beats(two, one) for two in points)
    ]
    assert bool(best) == bool(points)


def test_the_figure_of_a_search_marks_the_front() -> None:
    losses = {"baseline": 5.0, "c001": 4.9, "c002": 5.2, "c003": 5.1}  # each arm is smaller than the previous one
    trials = [Trial(arm, 1).pretrained(loss) for arm, loss in losses.items()]
    resolved = document(seeds=(1,), design=search_design(objectives=["held_out_loss", "parameters"]))
    report = build(snapshot(trials, arms={arm: {} for arm in losses}, resolved=resolved))
    assert {row["cost"] for row in rows_of(report, "pareto")} == {"parameters"}  # the other costs do not differ
    assert {row["arm"] for row in rows_of(report, "pareto", front=True)} == {"c001", "c003"}
    drawn = picture(report, "pareto")
    assert drawn is not None
    assert "c003" in drawn.svg
    assert drawn.png(dots_per_inch=40).startswith(b"\x89PNG")


def test_a_search_on_the_score_of_a_single_task_is_drawn_on_that_task() -> None:
    scores = {"baseline": 70.0, "c001": 72.0, "c002": 69.0}  # each arm is smaller than the previous one
    trials = [Trial(arm, 1).pretrained(5.0).tuned("docs_pair", 1, accuracy=score) for arm, score in scores.items()]
    resolved = document(tasks=["docs_pair"], seeds=(1,), design=search_design(objectives=["score", "parameters"]))
    view = snapshot(
        trials, tasks=("docs_pair",), arms={arm: {} for arm in scores}, tuning_seeds=(1,), resolved=resolved
    )
    rows = rows_of(build(view), "pareto")
    assert {(row["arm"], row["metric"], row["value"], row["front"]) for row in rows} == {
        ("baseline", "docs_pair", 70.0, False),
        ("c001", "docs_pair", 72.0, True),
        ("c002", "docs_pair", 69.0, True),
    }


def test_one_measured_candidate_makes_no_front() -> None:
    resolved = document(seeds=(1,), design=search_design())
    report = build(snapshot([Trial("baseline", 1).pretrained(5.0)], arms={"baseline": {}}, resolved=resolved))
    assert picture(report, "pareto") is None
    assert all(table.name != "pareto" for table in report.tables)


def test_a_table_of_three_arms_is_drawn_against_training_flops() -> None:
    losses = {"baseline": 5.0, "small": 4.9, "smaller": 5.2}
    trials = [Trial(arm, seed).pretrained(loss + seed / 10) for arm, loss in losses.items() for seed in (1, 2)]
    view = snapshot(trials, arms={arm: {} for arm in losses}, resolved=document(seeds=(1, 2)))
    costs = {"baseline": 30, "small": 20, "smaller": 10}
    priced = tuple(replace(arm, train_flops=costs[arm.name]) for arm in view.arms)
    drawn = picture(build(replace(view, arms=priced)), "pareto")
    assert drawn is not None
    (trade_off,) = drawn.data
    assert (trade_off.cost, {point.arm for point in trade_off.points if point.front}) == (
        "train_flops",
        {"small", "smaller"},
    )
    assert all(point.spread is not None for point in trade_off.points)
    assert picture(build(view), "pareto") is None  # no front if all arms have the same cost
