"""The option `--format` of the commands that print a report, and the printing."""

from typing import Annotated

import typer

from reports.document import Report
from reports.formats import format_names, render
from steeplechase.commands.documents import print_document

TERMINAL = "terminal"
ReportFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="|".join(format_names()),
        autocompletion=lambda: [*format_names()],
        help="Output format.",
    ),
]


def print_report(report: Report, form: str = TERMINAL) -> None:
    """Print a report: in a terminal in its encoding, in any other format in UTF-8, for a file."""
    text = render(report, form)
    if form == TERMINAL:
        print(text, end="", flush=True)  # noqa: T201 — the result itself
    else:
        print_document(text)
