"""`search_space`, `runners` and `reports` of this project, also where a user has modules of these names.

They lie beside this package, or each in a folder of its own on a node of a cluster, where the import path finds them.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[1]
NAMES = ("search_space", "runners", "reports")


class OwnPackages(MetaPathFinder):
    """Finds the packages beside this one, before the folders of the import path are searched."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the place of one of the packages; None for any other module."""
        return PathFinder.find_spec(fullname, [str(FOLDER)]) if fullname in NAMES else None


def find_own_packages_first() -> None:
    """Let the packages be found beside this one. Raises ImportError for a module of their names from elsewhere."""
    for name in NAMES:
        found = getattr(sys.modules.get(name), "__spec__", None)
        if found is not None and (own := PathFinder.find_spec(name, [str(FOLDER)])) and found.origin != own.origin:
            reason = f"imported as {name!r}, which is the name of a package of steeplechase"
            raise ImportError(f"{found.origin}: {reason}; import steeplechase first, or rename it")
    if not any(isinstance(each, OwnPackages) for each in sys.meta_path):
        sys.meta_path.insert(0, OwnPackages())
