"""`steeplechase report`: the report of a results folder or a published export, in any format."""

from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import ResultsFolder
from commands.documents import print_document
from commands.report_format import TERMINAL, ReportFormat
from ledger.example_tables import kept_example_tables
from ledger.reading import snapshot_at
from reports.brief import brief
from reports.formats import render
from reports.report import build


def report(
    folder: ResultsFolder,
    form: ReportFormat = TERMINAL,
    everything: Annotated[
        bool, typer.Option("--all", help="In a terminal: every table, its notes, conditions.")
    ] = False,
) -> None:
    """Print the report of a results folder, finished or not."""
    text = _rendered(folder, form, everything)
    if form == TERMINAL:
        print(text, end="")  # noqa: T201 — the result itself
    else:
        print_document(text)


def _rendered(folder: Path, form: str, everything: bool) -> str:
    complete = build(snapshot_at(folder), example_tables=kept_example_tables(folder))
    return render(complete if everything or form != TERMINAL else brief(complete, all_of(folder)), form)


def all_of(folder: Path) -> str:
    """Return the command that shows the complete report of a folder."""
    return f"steeplechase report {folder} --all"
