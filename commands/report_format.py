"""The option `--format` of the commands that print a report."""

from typing import Annotated

import typer

from reports.formats import format_names

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
