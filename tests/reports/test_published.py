"""The published reports: their files are those that their rows give, and the audit comes to the same numbers."""

import io
from importlib.metadata import version
from pathlib import Path

import pytest
from matplotlib.image import imread

from reports.write import differing_files, published_files
from tests.factories.paths import PUBLISHED, ROOT
from tests.factories.published_reports import NAMES, published_report, write_tables
from tools.audit.__main__ import main

DRAWN = (
    *("budget-wikipedia", "components-laptop", "kernel_size-wikipedia", "search-laptop", "table8-laptop"),
    *("table9-laptop", "transformer_xl_memory-laptop"),
)
"""Published reports that have every figure, and most arms."""


def pinned(name: str) -> str:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line.partition("==")[2].split()[0] for line in lines if line.startswith(f"{name}=="))


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_files_of_a_report_are_those_that_its_rows_give(name: str) -> None:
    drawn = () if version("matplotlib") == pinned("matplotlib") else (".svg",)  # its bytes are matplotlib's too
    differing = differing_files(PUBLISHED / name, published_files(published_report(name)))
    assert not [path for path in differing if not path.endswith(drawn)]


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_of_a_published_figure_crosses_its_edge(name: str) -> None:
    for each in published_report(name).pictures:
        shades = imread(io.BytesIO(each.png(dots_per_inch=50)))[..., :3].min(axis=-1)
        edge = min(shades[0].min(), shades[-1].min(), shades[:, 0].min(), shades[:, -1].min())
        assert edge > 0.95, each.name


def test_the_drawn_reports_have_every_published_figure() -> None:
    figures = {path.stem: path for path in PUBLISHED.glob("*/figures/*.svg")}
    assert figures.keys() == {path.stem for name in DRAWN for path in (PUBLISHED / name / "figures").glob("*.svg")}


@pytest.mark.slow
def test_every_published_conclusion_follows_from_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        write_tables(name, tmp_path)
    assert main(["--tables", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    clean = {line.partition(": ")[0] for line in lines if line.endswith(" values compared, 0 differ")}
    assert clean == {*NAMES, "all"} - {"table9-laptop"}
    assert any(line.startswith("table9-laptop: not recomputed: latencies") for line in lines)
    assert int(lines[-1].split()[1]) > 15_000
