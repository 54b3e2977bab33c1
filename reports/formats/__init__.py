"""Formats of a report: one file per format, found by its name. Each has `render(report) -> str`."""

import pkgutil
from importlib import import_module
from typing import Protocol, cast

from reports.document import Report
from steeplechase.foundation.errors import ConfigurationError


class Format(Protocol):
    """The interface of a format's file."""

    def render(self, report: Report) -> str:
        """Return the complete report as text."""


def format_names() -> tuple[str, ...]:
    """Return the names of all formats: a new file here is a new format."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def render(report: Report, name: str) -> str:
    """Return the report in a format. Raises ConfigurationError for a format that does not exist."""
    if name not in format_names():
        raise ConfigurationError(f"{name!r} is not a format. Allowed: {', '.join(format_names())}")
    return cast("Format", import_module(f"{__name__}.{name}")).render(report)
