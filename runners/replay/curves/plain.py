"""The plain format: JSON lines, one object per point; numbers are doubles, and an object has each key once.

The first line may have `direction`, min (the default) or max, and say more of the curves. Every other object has
`candidate` (text or a number), `step` (a number), `value` (a number; null, NaN or infinite after divergence) and, on
at least one of the candidate's points, `config`, a mapping. A first line with `direction` may also be a point. Points
may come in any order.

    {"direction": "min"}
    {"candidate": "a", "config": {"learning_rate": 0.001}, "step": 1, "value": 5.2}
    {"candidate": "a", "step": 2, "value": 4.9}
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from runners.replay.curves.recorded import Mistakes, RecordedCurves, Unreadable, recorded
from steeplechase.foundation.errors import did_you_mean
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


DIRECTIONS = ("min", "max")
KEYS = ("candidate", "config", "step", "value")
KNOWN = frozenset({*KEYS, "direction"})
CANDIDATES_NAMED = 4


def read(name: str, lines: Iterable[str]) -> RecordedCurves:
    """Return the curves of a file's lines. Raises Unreadable with line, rule and value of every mistake."""
    points: dict[str, dict[float, float]] = {}
    configs: dict[str, Mapping[str, JsonValue]] = {}
    direction, about = "min", dict[str, JsonValue]()
    mistakes = Mistakes()
    steps = dict[float, float]()  # one number for all candidates
    written_lines = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    for position, (number, line) in enumerate(written_lines):
        with mistakes.of_one():
            document = _object(line, number)
            if position == 0 and "direction" in document:
                direction = _direction(document.pop("direction"), number)
                if "candidate" not in document:
                    about = document
                    continue
            _refuse_misspelt(document, number)
            if document.get("direction", direction) != direction:
                raise Unreadable(
                    f"{number}: direction {_shown(document['direction'])}; the first line has {direction}"
                )
            candidate, step, value = _candidate(document, number), _step(document, number), _value(document, number)
            if step in points.setdefault(candidate, {}):
                raise Unreadable(f"{number}: candidate {candidate[:60]!r} has step {step:g} twice")
            points[candidate][steps.setdefault(step, step)] = value
            if (config := _config(document, configs.get(candidate), candidate, number)) is not None:
                configs[candidate] = config
    mistakes.refuse()
    if not points:
        raise Unreadable("1: no point; one JSON object per line is needed, with candidate, config, step and value")
    if configs:
        _refuse_without_config([candidate for candidate in points if candidate not in configs])
    configs = {candidate: configs.get(candidate, {}) for candidate in points}
    return replace(recorded(name, configs, points, direction == "max"), about=about)


def written(curves: RecordedCurves) -> str:
    """Return curves in the plain format, direction min; `read` returns the same curves."""
    lines: list[str] = [json.dumps({"direction": "min", **curves.about})]
    for row, candidate in enumerate(curves.candidates):
        for column, step in enumerate(curves.steps):
            value = float(curves.values[row, column])
            point: dict[str, JsonValue] = {"candidate": candidate, "step": step}
            point |= {"value": value if math.isfinite(value) else None}
            lines.append(json.dumps({**point, "config": dict(curves.configs[row])} if column == 0 else point))
    return "\n".join(lines) + "\n"


def _object(line: str, number: int) -> dict[str, JsonValue]:
    document = parsed(line, number)
    if not isinstance(document, dict):
        raise Unreadable(f"{number}: {line[:60]!r} is not an object; one JSON object per line is needed")
    return document


def _refuse_misspelt(document: Mapping[str, JsonValue], number: int) -> None:
    """Raise Unreadable for a key that is near one of a point that the object lacks; further keys are allowed."""
    if document.keys() <= KNOWN:
        return
    absent = tuple(key for key in KEYS if key not in document)
    for key in document:
        if key not in KNOWN and (hint := _suggestion(key, absent)):
            raise Unreadable(f"{number}: {key[:60]!r} is not a key of a point.{hint}")


@lru_cache(maxsize=1024)
def _suggestion(key: str, absent: tuple[str, ...]) -> str:
    """Return the end of a message; a misspelt key is often that of every line."""
    return did_you_mean(key, absent)


def _refuse_without_config(candidates: list[str]) -> None:
    if candidates:
        named = ", ".join(f"{candidate[:60]!r}" for candidate in candidates[:CANDIDATES_NAMED])
        more = len(candidates) - CANDIDATES_NAMED
        others = f" and {more} more" if more > 0 else ""
        raise Unreadable(f"no config on any point of candidate {named}{others}; write it on one, {{}} if it is empty")


def _direction(value: JsonValue, number: int) -> str:
    if value not in DIRECTIONS:
        raise Unreadable(f"{number}: direction is {_shown(value)}; allowed: min, max")
    return str(value)


def _candidate(document: Mapping[str, JsonValue], number: int) -> str:
    value = document.get("candidate")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unreadable(f"{number}: candidate is {_shown(value)}; text or a number is needed")
    return str(value)


def _step(document: Mapping[str, JsonValue], number: int) -> float:
    value = document.get("step")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise Unreadable(f"{number}: step is {_shown(value)}; a number of at least 0 is needed")
    return float(value)


def _value(document: Mapping[str, JsonValue], number: int) -> float:
    if "value" not in document:
        raise Unreadable(f"{number}: value is missing; a number is needed, or null where it diverged")
    value = document["value"]
    if value is None:
        return math.nan
    if isinstance(value, str) and value.lower() in ("nan", "inf", "-inf", "infinity", "-infinity"):
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{number}: value is {_shown(value)}; a number is needed, or null where it diverged")
    return float(value)


def _config(
    document: Mapping[str, JsonValue], known: Mapping[str, JsonValue] | None, candidate: str, number: int
) -> Mapping[str, JsonValue] | None:
    config = document.get("config")
    if config is None:
        return None
    if not isinstance(config, dict):
        raise Unreadable(f"{number}: config is {_shown(config)}; a mapping is needed")
    if known is not None and known != config:
        raise Unreadable(f"{number}: candidate {candidate[:60]!r} has another config than on an earlier line")
    return config


def _shown(value: JsonValue) -> str:
    return "missing" if value is None else repr(value)[:60]
