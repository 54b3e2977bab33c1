"""JSON of recorded curves: numbers are doubles, and an object has each key once."""

import json

from runners.replay.curves.recorded import Unreadable
from steeplechase.foundation.schema import JsonValue

DIGITS_OF_A_DOUBLE = 300
"""An integer with more digits is read as a double, which is infinite from 309 digits on."""
SHOWN = 60


class DuplicateKeyError(Exception):
    """An object has a key twice, of which Python's reader would keep the last value."""


def parsed(text: str, first_line: int = 1) -> JsonValue:
    """Return a JSON value. Raises Unreadable with the line, counted from `first_line`, and the rule."""
    try:
        value: JsonValue = _DECODER.decode(text)
        if "\\u" in text:  # half of a surrogate pair, written as an escape
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        place = f"{first_line + error.lineno - 1}: not JSON ({error.msg} at column {error.colno})"
        raise Unreadable(f"{place}: {line[:SHOWN]!r}") from error
    except RecursionError as error:
        raise Unreadable(f"{first_line}: too many lists or objects inside each other: {text[:SHOWN]!r}") from error
    except UnicodeEncodeError as half:
        reason = f"\\u{ord(half.object[half.start]):04x} is half of a surrogate pair and no character"
        raise Unreadable(f"{first_line}: {reason}") from half
    except DuplicateKeyError as error:
        raise Unreadable(f"{first_line}: {error}; leave one of them out") from error
    return value


def _with_each_key_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for position, key in enumerate(keys) if key in keys[:position])
        raise DuplicateKeyError(f"key {twice[:SHOWN]!r} is twice in one object")
    return fields


def _number(digits: str) -> float:
    return float(digits) if len(digits) > DIGITS_OF_A_DOUBLE else int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_with_each_key_once, parse_int=_number)
