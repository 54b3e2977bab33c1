"""HTML: one self-contained page without scripts or external resources; the template escapes all names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from reports.document import Report
from reports.figures.style import following_the_page, variables
from reports.table import Grid

HERE = Path(__file__).parent
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FILES = re.compile(r'<li><a href="#files">Files</a></li>\n|<section id="files">\n.*?</section>\n', re.DOTALL)
VERDICTS = ("effects", "claims", "orderings")
"""Grids that the page shows below its first table and figure; all others are folded."""
LONG_TEXT = 36
"""Number of letters from which a cell's text is wrapped."""
SORTS = {
    "Interactive page": ("explore.html",),
    "Experiment": ("report.yaml",),
    "Tables": ("tables/*.csv",),
    "Figures": ("figures/*",),
    "Rows behind the report": ("ledger/*",),
}
"""Files of a results folder or a published report, by glob patterns."""
Links = Mapping[str, Sequence[str]]
"""By kind of file, the paths relative to the page."""
NO_LINKS: Links = MappingProxyType({})


@dataclass(frozen=True)
class Part:
    """A part of the page listed in its contents."""

    anchor: str
    title: str


@dataclass(frozen=True)
class ShownFigure(Part):
    """A drawing with the page's colour variables."""

    svg: Markup


@dataclass(frozen=True)
class ShownGrid(Part):
    """A table of the page: cells that are laid out already."""

    grid: Grid


def render(report: Report) -> str:
    """Return the report as one HTML page without scripts."""
    return page(report)


def page(report: Report, files: Links = NO_LINKS) -> str:
    """Return the page with its figures and links to the files of its folder."""
    style = Markup(f"{variables()}\n{(HERE / 'page.css').read_text(encoding='utf-8')}")
    figures = [
        ShownFigure(f"figure-{number}", picture.title, Markup(following_the_page(picture.svg)))
        for number, picture in enumerate(report.pictures, start=1)
    ]
    grids = [ShownGrid(anchor, grid.title, grid) for anchor, grid in _anchored(report.grids)]
    verdicts = [shown for shown in grids[1:] if shown.grid.name in VERDICTS]
    folded = [*figures[1:], *(shown for shown in grids[1:] if shown not in verdicts)]
    return (
        _template().render(
            report=report,
            policy=POLICY,
            style=style,
            parts=[*grids[:1], *figures[:1], *verdicts],
            folded=folded,
            files=files,
            contents=[*folded, *_ending(report, files)],
            long_text=LONG_TEXT,
        )
        + "\n"
    )


@cache
def _template() -> Template:
    """Return the page's template: compiling it is most of the time of a small page."""
    loader = FileSystemLoader(HERE)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.jinja")


def without_files(text: str) -> str:
    """Return a page without its links to files, for use outside its folder."""
    return FILES.sub("", text)  # safe: the template escapes all text, so that no text contains these elements


def _anchored(grids: Iterable[Grid]) -> Iterator[tuple[str, Grid]]:
    """Yield each grid with a unique anchor: the letters of its title, numbered if repeated."""
    used: set[str] = set()
    for grid in grids:
        plain = "table-" + re.sub(r"[^a-z0-9]+", "-", grid.title.lower()).strip("-")
        anchor, number = plain, 1
        while anchor in used:
            number += 1
            anchor = f"{plain}-{number}"
        used.add(anchor)
        yield anchor, grid


def _ending(report: Report, files: Links) -> Iterator[Part]:
    yield Part("conditions", "Conditions")
    if report.made_with:
        yield Part("made-with", "Made with")
    if files:
        yield Part("files", "Files")


def links_beside(folder: Path, reports: Sequence[str]) -> Links:
    """Return the links to the files of a report's folder: other formats, tables, figures and ledger rows."""
    groups = {"Other formats": [name for name in reports if (folder / name).is_file()]}
    for title, patterns in SORTS.items():
        paths = [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()]
        groups[title] = [path.relative_to(folder).as_posix() for path in paths if not path.name.startswith(".")]
    return {title: names for title, names in groups.items() if names}
