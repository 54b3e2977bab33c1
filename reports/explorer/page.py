"""The interactive page: the exploration as JSON, the library and the drawing script in one file, without network."""

from dataclasses import asdict
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.document import Report
from reports.explorer.exploration import Exploration
from reports.explorer.plotly_library import plotly_script
from reports.figures.style import variables
from steeplechase.foundation.canonical import json_in_html

HERE = Path(__file__).parent
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def explorer_page(report: Report, exploration: Exploration) -> str:
    """Return the page. Raises MachineError without the extra `explore`."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    template = environment.get_template("explorer.html.jinja")
    return template.render(
        report=report,
        policy=POLICY,
        style=Markup(f"{variables()}\n{(HERE / 'explorer.css').read_text(encoding='utf-8')}"),
        data=Markup(embedded(exploration)),
        library=Markup(plotly_script()),
        script=Markup((HERE / "explorer.js").read_text(encoding="utf-8")),
    )


def embedded(exploration: Exploration) -> str:
    """Return the data as JSON that cannot end its element."""
    return json_in_html(asdict(exploration))
