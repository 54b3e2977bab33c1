"""One self-contained page: no script, nothing fetched, figures inside; the template escapes what others named."""

from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.figures import svg_of
from reports.report import Report
from reports.style import INK

HERE = Path(__file__).parent
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(report: Report) -> str:
    """Return the page."""
    figures = (
        ("Held-out loss by tokens seen", report.curves),
        ("Differences to the baseline", report.forest),
        ("Results against costs", report.pareto),
    )
    return page(report, ((title, svg_of(data)) for title, data in figures if data is not None))


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
