"""What the figures are drawn from, and the drawing's own arithmetic."""

from itertools import pairwise
from pathlib import Path

import pytest
from building import TOKENS, Standing, Trial, search, snapshot, table2
from hypothesis import given
from hypothesis import strategies as st

from reports.figure_data import HurdleMark
from reports.figures import LABEL_GAP, save_png, spread, svg_of
from reports.report import build


def test_a_line_is_the_mean_of_the_seeds_that_came_furthest() -> None:
    trials = [
        Trial("baseline", 1).pretrained(6.0),
        Trial("baseline", 2).pretrained(6.2),
        Trial("baseline", 3, Standing.RUNNING).pretrained(1.0, TOKENS // 2),
        Trial("bottleneck", 1).diverged(),
    ]
    curves = build(snapshot(trials, marks=(TOKENS // 2, TOKENS))).curves
    assert curves is not None
    (line,) = curves.lines
    assert (line.arm, line.n, line.tokens[-1]) == ("baseline", 2, TOKENS)
    assert (line.mean[-1], line.low[-1], line.high[-1]) == pytest.approx((6.1, 6.0, 6.2))


def test_hurdles_stand_at_their_marks_with_their_bars() -> None:
    curves = build(search()).curves
    assert curves is not None
    assert curves.hurdles == (HurdleMark(500_000, 7.0), HurdleMark(1_000_000, None))


def test_a_single_seed_makes_no_forest() -> None:
    assert build(search()).forest is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted))
def test_labels_never_overlap_and_keep_their_order(shares: list[float]) -> None:
    placed = spread(shares, LABEL_GAP)
    assert all(after - before >= LABEL_GAP - 1e-9 for before, after in pairwise(placed))
    assert max(placed) <= 1 + 1e-9


def test_png_is_written(tmp_path: Path) -> None:
    forest = build(table2()).forest
    assert forest is not None
    save_png(forest, tmp_path / "forest.png", dots_per_inch=40)
    assert (tmp_path / "forest.png").read_bytes().startswith(b"\x89PNG")


def test_a_search_of_many_names_the_best_and_greys_the_rest() -> None:
    arms = {"baseline": {}, **{f"c{number:03}": {"bottleneck_ratio": number} for number in range(1, 25)}}
    trials = [Trial(arm, 1).pretrained(6.0 + position / 50) for position, arm in enumerate(arms)]
    curves = build(snapshot(trials, arms=arms)).curves
    assert curves is not None
    drawn = svg_of(curves)
    assert "c001" in drawn
    assert "c024" not in drawn
