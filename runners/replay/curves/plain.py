"""The plain format: JSON lines, one object per point.

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
from collections.abc import Iterator, Mapping
from dataclasses import replace

from foundation.schema import JsonValue
from runners.replay.curves.recorded import RecordedCurves, Unreadable, recorded

DIRECTIONS = ("min", "max")


def read(name: str, text: str) -> RecordedCurves:
    """Return the curves of a text. Raises Unreadable with the line, the rule and the value."""
    points: dict[str, dict[float, float]] = {}
    configs: dict[str, Mapping[str, JsonValue]] = {}
    direction, about = "min", dict[str, JsonValue]()
    for number, document in _objects(text):
        if not points and "direction" in document:
            direction = _direction(document["direction"], number)
            if "candidate" not in document:
                about = {key: value for key, value in document.items() if key != "direction"}
                continue
        candidate, step, value = _candidate(document, number), _step(document, number), _value(document, number)
        if step in points.setdefault(candidate, {}):
            raise Unreadable(f"{number}: candidate {candidate!r} has step {step:g} twice")
        points[candidate][step] = value
        configs[candidate] = _config(document, configs.get(candidate), candidate, number)
    if not points:
        raise Unreadable("1: no point; one JSON object per line is needed, with candidate, config, step and value")
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


def _objects(text: str) -> Iterator[tuple[int, dict[str, JsonValue]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except json.JSONDecodeError as error:
            raise Unreadable(f"{number}: not JSON ({error.msg} at column {error.colno}): {line[:60]!r}") from error
        if not isinstance(document, dict):
            raise Unreadable(f"{number}: {line[:60]!r} is not an object; one JSON object per line is needed")
        yield number, document


def _direction(value: JsonValue, number: int) -> str:
    if value not in DIRECTIONS:
        raise Unreadable(f"{number}: direction is {value!r}; allowed: min, max")
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
) -> Mapping[str, JsonValue]:
    config = document.get("config")
    if config is None:
        return known if known is not None else {}
    if not isinstance(config, dict):
        raise Unreadable(f"{number}: config is {_shown(config)}; a mapping is needed")
    if known and known != config:
        raise Unreadable(f"{number}: candidate {candidate!r} has another config than on an earlier line")
    return config


def _shown(value: JsonValue) -> str:
    return "missing" if value is None else repr(value)[:60]
