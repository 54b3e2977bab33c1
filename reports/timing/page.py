"""The page of a timing report: the page of every report, with the picture of its own."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import reports.formats
from reports.report import Report
from reports.style import INK
from reports.timing.analysis import Analysis

FORMATS = Path(reports.formats.__path__[0])
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(report: Report, analysis: Analysis) -> str:
    """Return one self-contained page; the template escapes what others named."""
    environment = Environment(
        loader=FileSystemLoader(FORMATS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = Markup((FORMATS / "page.css").read_text(encoding="utf-8"))
    drawn = [("Time and FLOPs by length", _picture(analysis))] if analysis.lengths else []
    template = environment.get_template("page.html.jinja")
    return template.render(report=report, policy=POLICY, style=style, figures=drawn) + "\n"


def _picture(analysis: Analysis) -> Markup:
    """Return the drawing with the page's own text colour as its ink; matplotlib escapes every name in it."""
    from reports.timing.figure import svg_of  # a third of a second, and only a page needs it

    return Markup(svg_of(analysis).replace(INK, "currentColor"))
