"""Packages of this project that a user's module hides: `steeplechase.tasks.py` or `models/` on the import path before them.

Only the standard library is imported, so that this file can be loaded by its path when `foundation` itself is hidden.
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("foundation", "analysis", "search_space", "models", "tasks", "configuration", "ledger"),
    *("runners", "reports", "commands"),
)


def hidden_packages() -> tuple[str, ...]:
    """Return a line for each package beside this one in whose place another module would be imported."""
    beside = (name for name in PACKAGES if (ROOT / name).is_dir())  # a node of a cluster has each in its own folder
    return tuple(line for name in beside for line in _hiding(name))


def _hiding(name: str) -> Iterator[str]:
    found = _place_of(name)
    if found is not None and found.parent != ROOT:
        file = found if found.suffix else found / "__init__.py"
        yield (
            f"{file}: hides steeplechase's own package {name!r}; rename it, run in another folder, or take its "
            "folder out of PYTHONPATH"
        )


def _place_of(name: str) -> Path | None:
    """Return the module's file, or its folder if it is a package; None if it cannot be found."""
    spec = getattr(sys.modules.get(name), "__spec__", None) or find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return None if spec.origin is None else Path(spec.origin).resolve()
