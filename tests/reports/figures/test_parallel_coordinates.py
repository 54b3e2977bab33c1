"""Parallel coordinates hold every candidate with a loss, those that a hurdle stopped at their last rung."""

from reports.report import build
from reports.sections.parallel_coordinates import ABSENT, MOST_NAMES, Line, Lines, draw
from steeplechase.configuration.arm import BASELINE
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.snapshot import snapshot
from tests.factories.paths import PUBLISHED
from tests.factories.read_reports import figure_data, picture, rows_of


def test_every_candidate_is_a_line_at_its_last_rung() -> None:
    report = build(snapshot(read_export(PUBLISHED / "search-laptop")))
    lines, drawn = figure_data(report, Lines), picture(report, "parallel_coordinates")
    assert drawn is not None
    rows = rows_of(report, "candidates")
    at_rung = {row["arm"]: row["tokens"] for row in rows if row["held_out_loss"] is not None}
    assert {line.arm: line.tokens for line in lines.lines} == at_rung
    assert len(at_rung) > sum(tokens == max(lines.rungs) for tokens in at_rung.values()) + 1
    assert all(
        value in lines.levels[axis]
        for line in lines.lines
        for axis, value in zip(lines.axes, line.values, strict=True)
    )
    assert len(drawn.numbers.rows) == len(at_rung)
    (baseline,) = (line for line in lines.lines if line.arm == BASELINE)
    assert baseline.values[lines.axes.index("convolution.kernel_size")] == ABSENT


def test_an_axis_of_many_values_names_as_many_as_fit() -> None:
    values = tuple(str(number) for number in range(200))
    drawn = draw(Lines(("dropout",), {"dropout": values}, tuple(Line(each, (each,), 64, 1.0) for each in values)))
    named = [text.get_text() for axes in drawn.axes for text in axes.texts if text.get_text() in values]
    assert named[0] == values[0]
    assert MOST_NAMES / 2 < len(named) <= MOST_NAMES
