"""The timing report in every format, from an unfinished record as well; what others named stays text."""

import csv
import io
import json
from pathlib import Path

import pytest

from reports.formats import format_names
from reports.timing.analysis import Analysis
from reports.timing.figure import svg_of
from reports.timing.files import write_report
from reports.timing.report import build, render
from reports.write import REPORT_FILES
from tests.factories.timings import ARMS, experiment, record

CONTROLLED = {"attention": {}, "control": {}, "mixed": ARMS["mixed"]}
TIMES = {"attention": (1.0, 1.1, 1.2), "control": (1.01, 1.09, 1.2), "mixed": (0.5, 0.6, 0.55)}
WHOLE = record({16: TIMES, 8: TIMES}, experiment(CONTROLLED))
HOSTILE = '<script>alert(1)</script> "><img src=x onerror=alert(1)> | \x1b[31m \u202e'


@pytest.mark.parametrize("form", format_names())
@pytest.mark.parametrize("kept", [WHOLE, record({8: TIMES}, experiment(CONTROLLED)), record({})])
def test_every_format_holds_the_finding(form: str, kept: object) -> None:
    text = render(kept, form)  # type: ignore[arg-type]
    if form == "csv":
        assert text.startswith("arm,length,n,milliseconds")
    else:
        first = build(kept).finding.split(" ")[0]  # type: ignore[arg-type]
        assert first in text


def test_csv_has_a_line_per_arm_and_length_from_the_shortest() -> None:
    rows = list(csv.DictReader(io.StringIO(render(WHOLE, "csv"))))
    assert [(row["arm"], row["length"]) for row in rows] == [(arm, at) for at in ("8", "16") for arm in CONTROLLED]
    mixed = rows[2]
    assert (float(mixed["milliseconds"]), float(mixed["times_as_fast"])) == (550.0, 2.0)
    assert int(mixed["flops"]) / int(rows[0]["flops"]) == pytest.approx(float(mixed["flops_ratio"]), abs=1e-6)


def test_json_holds_every_table() -> None:
    document = json.loads(render(WHOLE, "json"))
    tables = {table["name"]: table["rows"] for table in document["tables"] + document["evidence"]}
    assert len(tables["results"]) == 6
    assert {row["verdict"] for row in tables["orderings"]} <= {"supported", "contradicted", "undecided"}
    assert {row["measure"] for row in tables["orderings"]} == {"FLOPs", "time"}


def test_the_page_holds_the_picture_and_fetches_nothing() -> None:
    page = render(WHOLE, "html")
    assert page.count("<svg") == 1
    assert "<svg" not in render(record({}), "html")
    assert "<script" not in page


def test_what_a_file_says_stays_text() -> None:
    asked = experiment(CONTROLLED).model_copy(update={"question": HOSTILE})
    for form in ("html", "markdown", "terminal"):
        text = render(record({8: TIMES}, asked), form)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert form == "terminal" or "<script>" not in text


def test_the_picture_is_the_same_every_time_and_names_every_arm() -> None:
    drawn = svg_of(Analysis(WHOLE))
    assert drawn == svg_of(Analysis(WHOLE))
    assert all(arm in drawn for arm in CONTROLLED)


@pytest.mark.parametrize("kept", [WHOLE, record({8: {"attention": (1.0,), "mixed": (0.5,)}}, experiment(rounds=1))])
def test_files_are_written_whole_and_nothing_else_is_left(kept: object, tmp_path: Path) -> None:
    files = write_report(kept, tmp_path)  # type: ignore[arg-type]
    assert {file.name for file in files} == {*REPORT_FILES.values(), "speed.svg", "speed.png"}
    assert set(tmp_path.iterdir()) == set(files)
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
