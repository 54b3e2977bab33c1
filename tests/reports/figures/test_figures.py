"""Data of the figures, and arithmetic of the drawing."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.figures.matplotlib_style import spread, svg_document
from reports.report import build
from reports.sections.curves import LABEL_GAP, LABELLED_LINES, Curves, HurdleMark
from reports.write import figure_files
from steeplechase.ledger.records import TrialStatus
from tests.factories.read_reports import figure_data, picture
from tests.factories.reports import TOKENS, Trial, search, snapshot, table2


def test_a_line_is_the_mean_over_the_seeds_with_the_most_tokens() -> None:
    trials = [
        Trial("baseline", 1).pretrained(6.0),
        Trial("baseline", 2).pretrained(6.2),
        Trial("baseline", 3, TrialStatus.RUNNING).pretrained(1.0, TOKENS // 2),
        Trial("bottleneck", 1).diverged(),
    ]
    (line,) = figure_data(build(snapshot(trials, rungs=(TOKENS // 2, TOKENS))), Curves).lines
    assert (line.arm, line.n, line.tokens[-1]) == ("baseline", 2, TOKENS)
    assert (line.mean[-1], line.low[-1], line.high[-1]) == pytest.approx((6.1, 6.0, 6.2))


def test_hurdles_are_drawn_at_their_rungs_with_their_thresholds_and_number_of_stopped_arms() -> None:
    report = build(search())
    curves, shown = figure_data(report, Curves), picture(report, "curves")
    assert curves.hurdles == (HurdleMark(500_000, 7.0), HurdleMark(1_000_000, None))
    assert {line.arm: line.stopped_at for line in curves.lines} == {"baseline": 1, "c001": None, "c002": 1}
    assert shown is not None
    assert "hurdle 1: 2 stopped" in shown.svg


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted))
def test_labels_never_overlap_and_keep_their_order(shares: list[float]) -> None:
    placed = spread(shares, LABEL_GAP)
    assert all(after - before >= LABEL_GAP - 1e-9 for before, after in pairwise(placed))
    assert max(placed) <= 1 + 1e-9


def test_a_search_of_many_labels_the_best_lines_and_counts_the_others() -> None:
    arms = {"baseline": {}, **{f"c{number:03}": {"bottleneck_ratio": number} for number in range(1, 25)}}
    trials = [Trial(arm, 1).pretrained(6.0 + position / 50) for position, arm in enumerate(arms)]
    curves = picture(build(snapshot(trials, arms=arms)), "curves")
    assert curves is not None
    assert "c001" in curves.svg
    assert "c024" not in curves.svg
    assert f"grey: {len(arms) - LABELLED_LINES} more" in curves.svg


def test_equal_results_give_equal_bytes() -> None:
    first, second = (dict(figure_files(build(search()).pictures)) for _ in range(2))
    assert first == second
    assert {name.rpartition(".")[2] for name in first} == {"svg", "pdf", "csv"}


def test_an_svg_file_has_a_white_background_and_an_element_none() -> None:
    forest = picture(build(table2()), "forest")
    assert forest is not None
    element = forest.svg
    assert element.startswith("<svg")
    assert "#ffffff" not in element
    full = svg_document(element)
    assert ElementTree.fromstring(full.encode()).tag.endswith("svg")
    assert full.index("#ffffff") < full.index("<g")
    assert forest.pdf().startswith(b"%PDF")
