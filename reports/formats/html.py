"""One self-contained page: no script, nothing fetched, figures inside; the template escapes what others named."""

from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.figures.gallery import pictures_of
from reports.figures.style import INK
from reports.report import Report

HERE = Path(__file__).parent
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(report: Report) -> str:
    """Return the page."""
    return page(report, ((picture.title, picture.svg) for picture in pictures_of(report)))


def page(report: Report, pictures: Iterable[tuple[str, str]]) -> str:
    """Return the page with these pictures, each a title and an SVG document; they take the page's own text colour."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    drawn = [(title, Markup(svg.replace(INK, "currentColor"))) for title, svg in pictures]
    template = environment.get_template("page.html.jinja")
    return template.render(report=report, policy=POLICY, style=style, figures=drawn) + "\n"
