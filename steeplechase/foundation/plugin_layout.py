"""Names of modules as plugins, experiments and ledgers write them: the folders of the tree, without `steeplechase`.

A plugin's `tasks/downstream/mine.py` is written `tasks.downstream.mine` and imported as
`steeplechase.tasks.downstream.mine`; keys of stages hold the written name.
"""

from pathlib import Path

PACKAGE = "steeplechase."
TREE = ("search_space", "models", "tasks", "runners/training/optimisers")
"""The folders that a plugin may mirror."""
INSIDE = ("models", "tasks")
"""Those of them that are packages inside `steeplechase`."""


def imported_name(written: str) -> str:
    """Return the name under which a plugin's module is imported."""
    return f"{PACKAGE}{written}" if written.partition(".")[0] in INSIDE else written


def written_name(module: str) -> str:
    """Return a module's name as in the tree that plugins mirror."""
    return module.removeprefix(PACKAGE)


def place_of(module: str) -> Path:
    """Return the path of a module or package in the tree that plugins mirror, without a suffix."""
    return Path(*written_name(module).split("."))
