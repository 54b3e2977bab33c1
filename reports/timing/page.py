"""The page of a timing report: the page of every report, with the picture of its own."""

from collections.abc import Sequence

from reports.document import Report
from reports.links import LinkGroup
from reports.timing.analysis import Analysis


def page(report: Report, analysis: Analysis, files: Sequence[LinkGroup] = ()) -> str:
    """Return one self-contained page, with links to the files beside it."""
    from reports.formats import html
    from reports.timing.figure import svg_of

    shown = [html.Drawing("Time and FLOPs by length", svg_of(analysis))] if analysis.lengths else []
    return html.page(report, shown, files)
