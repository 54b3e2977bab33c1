"""The HTML page: anchors of its contents, links to existing files, colour variables."""

import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

from reports.figures.style import LIGHT, following_the_page
from reports.formats import markdown
from reports.formats.html import VERDICTS, links_beside, page, render, without_files
from reports.report import Report, build
from reports.write import files_to_attach, write_report
from tests.factories.reports import Trial, snapshot
from tests.reports.test_formats import HOSTILE, VIEWS, Elements, hostile_report, report_of


def without_drawings(text: str) -> str:
    return re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)


def reports() -> list[Report]:
    return [*map(report_of, VIEWS), *map(hostile_report, HOSTILE[:3])]


def test_finding_results_one_figure_and_verdicts_are_shown_and_every_other_part_is_folded_with_an_entry() -> None:
    for report in reports():
        text = without_drawings(render(report))
        shown, folded = (Elements(part) for part in text.split('<details class="more">'))
        places = Counter(attributes["id"] for _, attributes in (*shown.found, *folded.found) if "id" in attributes)
        assert set(places.values()) == {1}
        entries = [link.removeprefix("#") for link in folded.all("a", "href")]
        assert sorted(entries) == sorted(attributes["id"] for _, attributes in folded.found if "id" in attributes)
        assert len(places) == len(report.grids) + len(report.pictures) + 1  # conditions
        names = [grid.name for grid in report.grids]
        verdicts = [name for name in names[1:] if name in VERDICTS]
        assert len(shown.all("figure", "id")) == min(1, len(report.pictures))
        assert len(shown.all("section", "id")) == len(names[:1]) + len(verdicts)


@pytest.mark.parametrize("view", VIEWS)
def test_the_page_links_to_every_file_beside_it_and_to_nothing_else(view: str, tmp_path: Path) -> None:
    write_report(report_of(view), tmp_path)
    text = (tmp_path / "report.html").read_text()
    linked = [unquote(link) for link in Elements(without_drawings(text)).all("a", "href") if not link.startswith("#")]
    beside = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(linked) == sorted(beside - {"report.html"})


@pytest.mark.parametrize("name", ["table2", "hostile"])
def test_a_page_to_attach_elsewhere_is_the_page_without_links_to_files(name: str, tmp_path: Path) -> None:
    report = report_of("table2") if name == "table2" else hostile_report('</section><section id="files">')
    (tmp_path / "report.csv").write_text("")
    linked = page(report, links_beside(tmp_path, ("report.csv",)))
    assert linked != page(report)
    assert without_files(linked) == without_files(page(report)) == page(report)


def test_attached_files_have_the_pages_without_links(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    files = write_report(report_of("table2"), tmp_path)
    attached = files_to_attach(files, tmp_path / "scratch")
    assert [path.name for path in attached] == [path.name for path in files]
    assert {path.parent for path in attached} == {tmp_path, tmp_path / "scratch"}
    assert (tmp_path / "scratch" / "report.html").read_text() == render(report_of("table2"))
    assert (tmp_path / "scratch" / "report.md").read_text() == markdown.render(report_of("table2"))


@pytest.mark.parametrize("text", ["## a\n\n![b](c)", "a [b](c)!"])
def test_the_markdown_page_shows_each_figure_once_and_names_cannot_remove_text(text: str, tmp_path: Path) -> None:
    report = hostile_report(text)
    write_report(report, tmp_path)
    shown = re.findall(r"^!\[.*\]\((figures/.*)\)$", (tmp_path / "report.md").read_text(), re.MULTILINE)
    assert shown == [f"figures/{picture.name}.svg" for picture in report.pictures]
    assert all((tmp_path / path).is_file() for path in shown)
    assert markdown.without_figures((tmp_path / "report.md").read_text()) == markdown.render(report)


def test_ledger_rows_of_a_published_report_are_linked_and_unfinished_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    for name in ("records.csv", ".records.csv.writing"):
        (tmp_path / "ledger" / name).write_text("")
    assert links_beside(tmp_path, ("report.csv",)) == {"Rows behind the report": ["ledger/records.csv"]}


def test_a_link_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / 'a"><script>%.csv').write_text("")
    text = page(report_of("empty"), links_beside(tmp_path, ()))
    assert "<script>" not in text
    (link,) = (href for href in Elements(text).all("a", "href") if not href.startswith("#"))
    assert unquote(link) == 'tables/a"><script>%.csv'


def test_a_drawing_takes_the_page_s_colours_and_its_text_stays() -> None:
    named = LIGHT.series[1]
    trials = [Trial(name, seed).pretrained(6.0 + seed / 9) for name in ("baseline", named) for seed in (1, 2, 3)]
    report = build(snapshot(trials, {"baseline": {}, named: {"bottleneck_ratio": 2}}))
    drawings = re.findall(r"<svg.*?</svg>", render(report), flags=re.DOTALL)
    assert drawings
    for drawing in drawings:
        styles = " ".join(re.findall(r'style="([^"]*)"', drawing))
        assert not [colour for colour in (*LIGHT.series, LIGHT.quiet, LIGHT.ground) if colour in styles]
        assert named in drawing
    assert "var(--series-1)" in drawings[0]
    assert following_the_page('<text style="fill: #24292f">#24292f</text>') == (
        '<text style="fill: var(--text)">#24292f</text>'
    )
