"""`steeplechase report`: the report of a results folder or a published export, in any format."""

from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import ResultsFolder, StoreUrl
from commands.report_format import TERMINAL, ReportFormat, print_report
from ledger.example_tables import kept_example_tables
from ledger.reading import snapshot_at
from reports.brief import brief
from reports.report import build


def report(
    folder: ResultsFolder,
    form: ReportFormat = TERMINAL,
    everything: Annotated[
        bool, typer.Option("--all", help="In a terminal: every table, its notes, conditions.")
    ] = False,
    store: StoreUrl = "",
) -> None:
    """Print the report of a results folder, finished or not."""
    complete = build(snapshot_at(folder), example_tables=kept_example_tables(folder, store))
    print_report(complete if everything or form != TERMINAL else brief(complete, all_of(folder)), form)


def all_of(folder: Path) -> str:
    """Return the command that shows the complete report of a folder."""
    return f"steeplechase report {folder} --all"
