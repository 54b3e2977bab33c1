"""`steeplechase compare`: the differences between any two arms of a results folder, looked up after the run."""

from typing import Annotated

import typer

from reports.pair_report import pair_report, pairs_of
from runners.flags import StoreUrl
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.report_format import TERMINAL, ReportFormat, print_report
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.reading import snapshot_at


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
    results, pairs = pairs_of(snapshot_at(folder), kept_example_tables(folder, store), arms or (), metrics or ())
    print_report(pair_report(results, pairs), form)
