"""`steeplechase explore`: an interactive page about the results, in one file without network."""

from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import ResultsFolder
from foundation.atomic_files import disk_refusals
from foundation.errors import MachineError
from ledger.example_tables import kept_example_tables
from ledger.reading import snapshot_at
from reports.explorer.exploration import exploration_of
from reports.explorer.page import explorer_page
from reports.report import build
from reports.statistics.latency import is_latency
from reports.statistics.results import results_of
from reports.write import put

PAGE = "explore.html"


def explore(
    folder: ResultsFolder,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=f"Default: {PAGE} in DIR.")] = None,
) -> None:
    """Write an interactive page: parallel coordinates, slices and learning curves, with values under the pointer."""
    snapshot = snapshot_at(folder)
    if is_latency(snapshot):
        raise MachineError(f"{folder}: a timing experiment has no arms to explore; `steeplechase report` shows it")
    tables = kept_example_tables(folder)
    text = explorer_page(build(snapshot, example_tables=tables), exploration_of(results_of(snapshot, None, tables)))
    path = out or folder / PAGE
    with disk_refusals(path.parent):
        put(path, text.encode())
    print(path)  # noqa: T201 — the result itself
