"""What the figures are drawn from, and the drawing's own arithmetic."""

import io
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from ledger import snapshot as states
from ledger.csv_export import read_export
from reports.figures.curves import LABEL_GAP
from reports.figures.figure_data import HurdleMark
from reports.figures.figures import narrow_draw, pdf_of, save_png, svg_of
from reports.figures.gallery import files_of, numbers_of, pictures_of
from reports.figures.matplotlib_style import png_bytes, spread, svg_document
from reports.report import build
from tests.factories.paths import PUBLISHED
from tests.factories.reports import TOKENS, Trial, TrialStatus, document, search, snapshot, table2

WITH_LEDGERS = sorted(path.parent for path in PUBLISHED.glob("*/ledger"))


def test_a_line_is_the_mean_of_the_seeds_that_came_furthest() -> None:
    trials = [
        Trial("baseline", 1).pretrained(6.0),
        Trial("baseline", 2).pretrained(6.2),
        Trial("baseline", 3, TrialStatus.RUNNING).pretrained(1.0, TOKENS // 2),
        Trial("bottleneck", 1).diverged(),
    ]
    curves = build(snapshot(trials, rungs=(TOKENS // 2, TOKENS))).curves
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


def test_equal_results_give_equal_bytes() -> None:
    first, second = (dict(files_of(pictures_of(build(table2())))) for _ in range(2))
    assert first == second
    assert {name.rpartition(".")[2] for name in first} == {"svg", "pdf", "csv"}


def test_a_file_of_its_own_stands_on_white_and_an_element_on_nothing() -> None:
    forest = build(table2()).forest
    assert forest is not None
    element = svg_of(forest)
    assert element.startswith("<svg")
    assert "#ffffff" not in element
    whole = svg_document(element)
    assert ElementTree.fromstring(whole.encode()).tag.endswith("svg")
    assert whole.index("#ffffff") < whole.index("<g")
    assert pdf_of(forest).startswith(b"%PDF")


def test_who_was_stopped_is_told_with_the_hurdle() -> None:
    curves = build(search()).curves
    assert curves is not None
    assert {line.arm: line.stopped_at for line in curves.lines} == {"baseline": 1, "c001": None, "c002": 1}
    assert "hurdle 1: 2 stopped" in svg_of(curves)


def test_forecasts_are_drawn_as_such_and_marked_in_the_numbers() -> None:
    trials = []
    for seed in (1, 2, 3):
        points = [[TOKENS * step // 16, 2.5 + 30 * (TOKENS * step / 16) ** -0.2 + seed / 99] for step in range(1, 17)]
        result = {"tokens": TOKENS, "held_out_loss": points[-1][1], "held_out_curve": points, "train_curve": []}
        trials.append(Trial("baseline", seed).record("pretrain", f"pretrain@{TOKENS}", result))
    curves = build(snapshot(trials, {"baseline": {}}, resolved=document(forecast={"tokens": 10 * TOKENS}))).curves
    assert curves is not None
    assert [ahead.arm for ahead in curves.ahead] == ["baseline"]
    assert "forecast, not measured" in svg_of(curves)
    marked = {bool(row["forecast"]) for row in numbers_of(curves).rows if int(str(row["tokens"])) > TOKENS}
    assert marked == {True}


@pytest.mark.parametrize("folder", WITH_LEDGERS, ids=lambda path: path.name)
def test_nothing_that_was_published_reaches_over_the_edge_of_its_picture(folder: Path, tmp_path: Path) -> None:
    for picture in pictures_of(build(states.snapshot(read_export(folder)))):
        save_png(picture.data, tmp_path / "picture.png", dots_per_inch=100)
        shades = imread(tmp_path / "picture.png")[..., :3].min(axis=-1)
        edge = min(shades[0].min(), shades[-1].min(), shades[:, 0].min(), shades[:, -1].min())
        assert edge > 0.95, picture.name


@pytest.mark.parametrize("folder", WITH_LEDGERS, ids=lambda path: path.name)
def test_a_narrow_drawing_is_narrow_and_nothing_reaches_over_its_edge(folder: Path) -> None:
    drawn = 0
    for picture in pictures_of(build(states.snapshot(read_export(folder)))):
        narrow = narrow_draw(picture.data)
        if narrow is None:
            continue
        shades = imread(io.BytesIO(png_bytes(narrow, 100)))[..., :3].min(axis=-1)
        assert shades.shape[1] <= 400
        edge = min(shades[0].min(), shades[-1].min(), shades[:, 0].min(), shades[:, -1].min())
        assert edge > 0.95, picture.name
        drawn += 1
    assert drawn
