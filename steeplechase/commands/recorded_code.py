"""The plugin copies of a results folder: run only where `--trust` says so, for commands that build a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from search_space.architecture import Architecture
from steeplechase.configuration.plugin_folders import recorded_copies
from steeplechase.configuration.plugins import Plugin, kinds_without_code, load_plugin
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.stand_ins import CodeNeeded, refuse
from steeplechase.ledger.amendments import documents_of
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.snapshot import open_rows, plugin_copies

DIGITS = 12

Trust = Annotated[
    bool, typer.Option("--trust", help="Import the code of the plugins that the results folder has copies of.")
]


@contextmanager
def code_of(folder: Path, trusted: bool) -> Iterator[None]:
    """Load the plugin copies of a results folder if they are trusted.

    Raises ConflictError with the files that would run where their code is needed and not trusted.
    """
    plugins: tuple[Plugin, ...] = ()
    if (folder / LEDGER_NAME).is_file():
        with open_rows(folder) as rows:
            plugins = recorded_copies(documents_of(rows), plugin_copies(folder))
    for plugin in plugins if trusted else ():
        load_plugin(plugin.folder, plugin.sha256)
    try:
        yield
    except CodeNeeded as needed:
        files = (
            f"{path} (sha256 {plugin.hashes[module][:DIGITS]})"
            for plugin in plugins
            for module, path in plugin.files.items()
        )
        reason = f"--trust runs {', '.join(files)}" if plugins else "the folder has no copy of it"
        raise ConflictError(f"{needed}; {reason}") from needed


def refuse_without_code(architecture: Architecture) -> None:
    """Raise CodeNeeded for an architecture that has a part of a plugin that is not loaded."""
    if kinds := kinds_without_code(architecture):
        refuse(kinds[0])
    architecture.blocks  # noqa: B018 — raises CodeNeeded for a sublayer
