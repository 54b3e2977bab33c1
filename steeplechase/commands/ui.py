"""`steeplechase ui`: MLflow's pages on 127.0.0.1, over the store of the mirrored runs."""

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from runners.flags import folder_named
from runners.tracking import TrackingStore, serve
from runners.tracking.connectivity import redacted
from runners.tracking.store import URI_VARIABLE
from steeplechase.foundation.errors import ConflictError, MachineError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.paths import RESULTS, ResultPaths, has_export
from steeplechase.ledger.snapshot import snapshot

BrowsedFolder = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="A results folder, or all of them.", parser=folder_named)
]


def ui(
    folder: BrowsedFolder = Path(RESULTS),
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Default: 5000, or the next free port.")] = None,
) -> None:
    """Browse the runs in MLflow; Ctrl-C ends it."""
    browsable = folder.is_dir() or folder == Path(RESULTS)  # which MLFLOW_TRACKING_URI needs not to be there
    if browsable and not (folder / LEDGER_NAME).is_file() and not has_export(folder):
        serve(_filled(TrackingStore.resolve(folder, None, os.environ)), port)
    with closing(Ledger.at(folder)) as ledger:
        current = snapshot(ledger)
    root, experiment = ResultPaths.of(folder).root, f"{current.experiment}-{current.scale}"
    declared = current.document.get("tracking")
    if isinstance(declared, str) and not os.environ.get(URI_VARIABLE):
        address = f"{URI_VARIABLE}={redacted(declared)} opens it"
        raise ConflictError(f"{folder}: its runs are in the tracking store that its experiment names; {address}")
    store = TrackingStore.resolve(root, None, os.environ)
    serve(_filled(store), port, experiment)


def _filled(store: TrackingStore) -> TrackingStore:
    """Return the store, at its present place. Raises MachineError if it has no runs; no empty one is created."""
    file = store.database_file
    if file is not None and not file.is_file():
        raise MachineError(f"{file}: no runs to browse; `steeplechase run EXPERIMENT` creates some")
    store.follow_move()
    return store
