"""`steeplechase report`: what was learned, from a results folder or a published export, in any format."""

from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import ResultsFolder
from reports.formats import format_names, render
from reports.report import build
from reports.timing.report import render as render_timing
from runners.kept.results_folder import snapshot_at
from runners.timing.keeping import has_timings, read


def report(
    folder: ResultsFolder,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(format_names()),
            autocompletion=lambda: [*format_names()],
            help="How the report is written.",
        ),
    ] = "terminal",
) -> None:
    """Print the report of a results folder, finished or not."""
    print(_rendered(folder, form), end="")  # noqa: T201 — the result itself


def _rendered(folder: Path, form: str) -> str:
    if has_timings(folder):
        return render_timing(read(folder), form)
    found = snapshot_at(folder)
    return render(build(found, found.importance or None), form)
