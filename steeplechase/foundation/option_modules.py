"""The one loader of what implements an option: the module of its kind in the package that its axis names."""

from importlib import import_module
from typing import Any, Protocol

from steeplechase.foundation.errors import ConfigurationError


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
