"""`steeplechase report`, `compare` and `pilot`: reports of a results folder or a published export, in any format."""

import shlex
import sys
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from reports.document import Report
from reports.formats import format_names, render
from reports.pair_report import pair_report, pairs_of
from reports.report import build
from reports.sections.task_pilot import pilot_grid, pilot_of, qualifying_tasks
from reports.statistics.predictions import tables_of_predictions
from reports.statistics.reading import NO_EXAMPLES
from reports.summary import brief
from reports.views import compared_results
from reports.write import write_predictions
from runners.flags import StoreUrl
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.output import tell
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.program import program
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.snapshot import snapshot_at


def print_document(text: str) -> None:
    """Print a document such as a report in LaTeX, without a line end of its own."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)


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


def report(
    folder: ResultsFolder,
    form: ReportFormat = TERMINAL,
    everything: Annotated[
        bool, typer.Option("--all", help="In a terminal: every table with its notes, and the conditions.")
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
            tell(f"predictions: {path}")
    complete = build(snapshot, example_tables=kept_example_tables(folder, store, snapshot))
    print_report(complete if everything or form != TERMINAL else brief(complete, all_of(folder)), form)


def all_of(folder: Path) -> str:
    """Return the command that shows the complete report of a folder."""
    return f"{program()} report {shlex.quote(str(folder))} --all"


def compare(
    folder: ResultsFolder,
    arms: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARM...", help="Each minus those after it; one alone minus all others. Default: all."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="METRIC", help="Default: held-out loss and score; repeatable."),
    ] = None,
    form: ReportFormat = TERMINAL,
    store: StoreUrl = "",
) -> None:
    """Print the differences between any arms of a results folder, with intervals and corrected p values."""
    snapshot = snapshot_at(folder)
    tables = kept_example_tables(folder, store, snapshot)
    results, pairs = pairs_of(snapshot, tables, arms or (), metrics or ())
    print_report(pair_report(results, pairs), form)


def pilot(folder: ResultsFolder) -> None:
    """Print each task's scores beside its references and those of untrained encoders, and which tasks qualify."""
    found = snapshot_at(folder)
    if not found.has_trials:
        raise DataError(f"{folder}: no model is trained in it, so that it has no tasks")
    results = compared_results(found, NO_EXAMPLES)
    piloted = pilot_of(results)
    if not piloted:
        declared = results.experiment.fine_tuning.tasks
        reason = "no task has a score yet" if declared else "its experiment declares no task; see fine_tuning.tasks"
        raise DataError(f"{folder}: {reason}")
    finding = f"qualifying tasks: {', '.join(qualifying_tasks(piloted)) or 'none'}"
    shown = replace(build(found), statements=(finding,), paper="", grids=tuple(pilot_grid(results)), footer=())
    print_report(shown)
