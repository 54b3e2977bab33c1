"""Sublayers of a stack: one file per kind. A declaration has the sizes of one sublayer and its costs in closed form.

`search_space/stack.py` makes them from a layer program; `models/sublayer/` has the torch modules under equal names.
A folder that extends the package's `__path__` adds sublayers.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from inspect import isabstract
from types import ModuleType
from typing import Self

from search_space.layer_program import Setting
from search_space.sublayer.sublayer import LetteredSublayer, StackSizes
from steeplechase.foundation.schema import cached_until_options_change, options_changed
from steeplechase.foundation.stand_ins import refuse


@cached_until_options_change
def sublayers_by_letter() -> dict[str, type[LetteredSublayer]]:
    """Return the sublayers that a layer program may name, by their letters; of two with one letter the first."""
    found: dict[str, type[LetteredSublayer]] = {}
    for file in pkgutil.iter_modules(__path__):
        sublayer = lettered_sublayer(import_module(f"{__name__}.{file.name}"))
        if sublayer is not None:
            found.setdefault(sublayer.letter, sublayer)
    return {**_RECORDED, **found}


_RECORDED: dict[str, type[LetteredSublayer]] = {}
"""By letter, the sublayers of records whose plugins are not loaded."""


def add_recorded_sublayer(letter: str, kind: str) -> None:
    """Let layer programs name a sublayer by its letter alone, unless there is one of this letter."""
    if letter not in sublayers_by_letter():
        _RECORDED[letter] = type("RecordedSublayer", (_WithoutCode,), {"kind": kind, "letter": letter})
        options_changed()


def forget_recorded_sublayers() -> None:
    """Let layer programs name the sublayers alone that are loaded."""
    if _RECORDED:
        _RECORDED.clear()
        options_changed()


class _WithoutCode(LetteredSublayer):
    """A sublayer whose plugin is not loaded."""

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Raise CodeNeeded."""
        refuse(cls.kind)


def lettered_sublayer(module: ModuleType) -> type[LetteredSublayer] | None:
    """Return the sublayer that a file defines; None for a file without one. Raises ValueError."""
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    found = [each for each in own if issubclass(each, LetteredSublayer) and not isabstract(each)]
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"{', '.join(each.__name__ for each in found)}: a file defines one sublayer")
    sublayer, file = found[0], module.__name__.rpartition(".")[2]
    missing = [name for name in ("kind", "letter") if not hasattr(sublayer, name)]
    if missing:
        raise ValueError(f"{sublayer.__name__}: a sublayer needs {', '.join(missing)}")
    if sublayer.kind != file:
        raise ValueError(f"{sublayer.__name__}: its kind is {sublayer.kind!r}; the file is named {file}")
    return sublayer
