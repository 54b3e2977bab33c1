"""`steeplechase explore`: an interactive page about the results, in one file without network."""

import html
from pathlib import Path
from typing import Annotated

import typer

from reports.explorer.exploration import POLICY, exploration_of, explorer_page
from reports.report import build
from reports.statistics.reading import results_of
from reports.write import put
from runners.flags import StoreUrl
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.foundation.atomic_files import disk_refusals, read_regular
from steeplechase.foundation.errors import ConflictError, MachineError
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.snapshot import snapshot_at

PAGE = "explore.html"
BEGINNING = 1000
"""Bytes of a page that hold its policy."""


def explore(
    folder: ResultsFolder,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=f"Default: {PAGE} in DIR.")] = None,
    store: StoreUrl = "",
) -> None:
    """Write an interactive page: parallel coordinates, slices and learning curves, with values under the pointer."""
    path = out or folder / PAGE
    with disk_refusals(path.parent):
        _refuse_other(path)
    snapshot = snapshot_at(folder)
    if not snapshot.has_trials:
        raise MachineError(f"{folder}: no model is trained in it; `steeplechase report` shows what is measured")
    tables = kept_example_tables(folder, store, snapshot)
    text = explorer_page(build(snapshot, example_tables=tables), exploration_of(results_of(snapshot, None, tables)))
    with disk_refusals(path.parent):
        put(path, text.encode())
    print(path)  # noqa: T201 — the result itself


def _refuse_other(path: Path) -> None:
    """Raise ConflictError if the path is no file, such as a device, or a file that this command has not written."""
    if path.exists() and not path.is_file():
        raise ConflictError(f"{path}: already exists and is no file; choose another name")
    if path.is_file() and POLICY not in html.unescape(read_regular(path, BEGINNING).decode(errors="replace")):
        raise ConflictError(f"{path}: already exists and is no page of `explore`; choose another name")
