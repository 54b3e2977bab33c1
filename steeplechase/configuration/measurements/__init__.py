"""`measure:`, descriptive measurements of the arms beyond losses and scores, found by listing this folder.

A file has one: its settings, whose `key` names it under `measure:`, and its result.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, TypeVar

from pydantic import BaseModel, Field, create_model

from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.foundation.schema import Schema, subclasses

M = TypeVar("M", bound=Measurement)


def kinds() -> Iterator[type[Measurement]]:
    """Yield the measurements of this folder, in the order of their files."""
    for file in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{file.name}").__name__
        yield from (each for each in subclasses(Measurement) if each.__module__ == module)


def _settings() -> type[BaseModel]:
    """Return a declaration with a field for each measurement, None where it is not made."""
    fields: dict[str, Any] = {
        kind.key: (kind | None, Field(default=None, examples=[kind.example], description=kind.brief))
        for kind in kinds()
    }
    made = create_model("Settings", __base__=Schema, **fields)
    made.described_by = ()
    return made


class Measures(_settings()):  # type: ignore[misc]
    """Measurements by name; only those that are set are made."""

    @property
    def declared(self) -> dict[str, Measurement]:
        """The measurements that are set, by name."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def of_trials(self) -> tuple[Measurement, ...]:
        """The declared measurements of each trained model."""
        return tuple(each for each in self.declared.values() if each.of_trials)

    @property
    def of_arms(self) -> tuple[Measurement, ...]:
        """The declared measurements of all arms together, outside trials."""
        return tuple(each for each in self.declared.values() if not each.of_trials)

    def settings(self, kind: type[M]) -> M | None:
        """Return the settings of a measurement, None where it is not made."""
        found: M | None = getattr(self, kind.key)
        return found
