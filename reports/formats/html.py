"""One self-contained page: no script, nothing fetched, figures inside; the template escapes what others named."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.figures import Drawn, svg_of
from reports.report import Report
from reports.style import INK

HERE = Path(__file__).parent
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("page.html.jinja")
    figures = [
        ("Held-out loss by tokens seen", _figure(report.curves)),
        ("Differences to the baseline", _figure(report.forest)),
        ("Results against costs", _figure(report.pareto)),
    ]
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    drawn = [(title, svg) for title, svg in figures if svg]
    return template.render(report=report, policy=POLICY, style=style, figures=drawn) + "\n"


def _figure(data: Drawn | None) -> Markup | None:
    """Return the drawing with the page's own text colour as its ink; matplotlib escapes every name in it."""
    return None if data is None else Markup(svg_of(data).replace(INK, "currentColor"))
