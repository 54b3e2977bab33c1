"""Differences of two JSON documents as text, for messages."""

from collections.abc import Iterator

from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import JsonValue


def differences(known: JsonValue, wanted: JsonValue, path: str = "") -> Iterator[str]:
    """Yield `a.b: 1 there, 2 here` for every value that differs; a missing value is at its default."""
    if isinstance(known, dict) and isinstance(wanted, dict):
        for name in sorted(known.keys() | wanted.keys()):
            yield from differences(known.get(name), wanted.get(name), f"{path}.{name}" if path else name)
    elif known != wanted:
        there, here = ("the default" if value is None else canonical_text(value) for value in (known, wanted))
        yield f"{path}: {there} there, {here} here"
