"""Mistakes of a configuration file: where they are, what they say, and how they are told all at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from foundation.errors import ConfigurationError

TOLD_AT_MOST = 50
SHOWN_CHARACTERS = 80

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Where a value stands: its line, counted from 1, and the keys that lead to it from the top of the file."""

    line: int
    path: Path = ()

    def under(self, *path: str | int) -> "Place":
        """Return the place of something inside this one that has no line of its own."""
        return Place(self.line, (*self.path, *path))


@dataclass(frozen=True)
class Mistake:
    """One mistake: `path` is dotted text and may be empty where the text could not be read as keys."""

    file: str
    line: int
    path: str
    message: str

    @property
    def told(self) -> str:
        """The mistake as the user reads it, on one line and safe for a terminal whatever the file holds."""
        path = f"{self.path}: " if self.path else ""
        line = f"{self.file}:{self.line}: {path}{self.message}"
        return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def mistake(file: str, place: Place, message: str) -> Mistake:
    """Return the mistake with its path as dotted text: `arms[2].convolution.kernel_size`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in place.path]
    return Mistake(file, place.line, "".join(parts).removeprefix("."), message)


def refuse(mistakes: Iterable[Mistake]) -> NoReturn:
    """Raise ConfigurationError with the mistakes by line, each once, and a count of those past the limit."""
    found = sorted(set(mistakes), key=lambda each: (each.line, each.path, each.message))
    lines = [each.told for each in found[:TOLD_AT_MOST]]
    if len(found) > TOLD_AT_MOST:
        lines.append(f"{found[0].file}: {len(found) - TOLD_AT_MOST} more mistakes are not shown")
    raise ConfigurationError(lines)


def shown(value: object) -> str:
    """Return a value as YAML would hold it, on one line, escaped and cut to 80 characters."""
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
