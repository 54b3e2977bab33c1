"""`steeplechase report`: the report of a results folder or a published export, in any format."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from reports.brief import brief
from reports.report import build
from reports.statistics.predictions import tables_of_predictions
from reports.write import write_predictions
from runners.flags import StoreUrl
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.report_format import TERMINAL, ReportFormat, print_report
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.reading import snapshot_at


def report(
    folder: ResultsFolder,
    form: ReportFormat = TERMINAL,
    everything: Annotated[
        bool, typer.Option("--all", help="In a terminal: every table, its notes, conditions.")
    ] = False,
    store: StoreUrl = "",
    predictions: Annotated[
        bool,
        typer.Option("--predictions", help="Write every prediction to tables/predictions/TASK.csv of the folder."),
    ] = False,
) -> None:
    """Print the report of a results folder, finished or not."""
    snapshot = snapshot_at(folder)
    if predictions:
        for path in write_predictions(folder, tables_of_predictions(folder, snapshot)):
            Console(stderr=True).print(f"predictions: {path}", markup=False, highlight=False, soft_wrap=True)
    complete = build(snapshot, example_tables=kept_example_tables(folder, store))
    print_report(complete if everything or form != TERMINAL else brief(complete, all_of(folder)), form)


def all_of(folder: Path) -> str:
    """Return the command that shows the complete report of a folder."""
    return f"steeplechase report {folder} --all"
