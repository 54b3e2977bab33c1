"""Mistakes of a configuration file: location, message, and the error that reports all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from steeplechase.foundation.errors import ConfigurationError, first_lines, with_escapes

MISTAKES_SHOWN_AT_MOST = 50
SHOWN_CHARACTERS = 80

Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Location:
    """Location of a value: its line, counted from 1, and its path of keys from the top of the file.

    A value from the command line has its flag as `origin` in place of file and line, which is 0.
    """

    line: int
    path: Keys = ()
    origin: str = ""

    def under(self, *path: str | int) -> "Location":
        """Return a location inside this one, on the same line."""
        return Location(self.line, (*self.path, *path), self.origin)


@dataclass(frozen=True)
class Mistake:
    """One mistake; `path` is dotted text, empty if the mistake is not at a key; `line` is 0 outside a file."""

    file: str
    line: int
    path: str
    message: str

    @property
    def text(self) -> str:
        """The mistake as one line, with unprintable characters escaped."""
        path = f"{self.path}: " if self.path else ""
        place = f"{self.file}:{self.line}" if self.line else self.file
        line = f"{place}: {path}{self.message}"
        return with_escapes(line)


def mistake(file: str, location: Location, message: str) -> Mistake:
    """Return the mistake with its path as dotted text: `arms[2].convolution.kernel_size`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in location.path]
    return Mistake(location.origin or file, location.line, "".join(parts).removeprefix("."), message)


def refuse(mistakes: Iterable[Mistake]) -> NoReturn:
    """Raise ConfigurationError with the distinct mistakes by line, and the number of those past the limit."""
    distinct = sorted(set(mistakes), key=lambda each: (each.line, each.path, each.message))
    lines = [each.text for each in distinct]
    raise ConfigurationError(
        first_lines(
            lines, lambda more: f"{distinct[0].file}: {more} more mistakes are not shown", MISTAKES_SHOWN_AT_MOST
        )
    )


def shown(value: object) -> str:
    """Return a value as YAML text on one line, escaped and truncated to 80 characters."""
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        text = repr(str(value[: SHOWN_CHARACTERS + 1]))
    else:
        text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _printable(key: str) -> str:
    text = key if key.isprintable() and key.isascii() and key else ascii(key)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
