"""The one loader of what implements an option: the module of its kind in the package that its axis names.

Plugins, experiments and ledgers write the names of modules as the folders of the tree, without `steeplechase`: a
plugin's `tasks/downstream/mine.py` is written `tasks.downstream.mine` and imported as
`steeplechase.tasks.downstream.mine`. Keys of stages hold the written name.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from steeplechase.foundation.errors import ConfigurationError

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


class Implemented(Protocol):
    """An option of an axis whose implementation is a file of its own, because it needs torch."""

    @property
    def modules(self) -> str:
        """The package of the implementations."""

    @property
    def kind(self) -> str:
        """The name of the file in it."""


def module_of(option: Implemented) -> Any:
    """Return the module that implements an option. Raises ConfigurationError with the file that is missing."""
    return module_named(option.modules, option.kind)


def module_named(package: str, kind: str) -> Any:
    """Return a module by its package and the kind that it implements. Raises ConfigurationError as `module_of`."""
    name = f"{package}.{kind}"
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        message = f"{kind}: an option without its module; {name.replace('.', '/')}.py is needed"
        raise ConfigurationError(message) from missing
