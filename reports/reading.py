"""Reading a record's JSON: finite numbers and mappings of them, or nothing. NaN and text never become a value."""

import math
from collections.abc import Mapping

from search_space.declaration import JsonValue


def number(value: JsonValue) -> float | None:
    """Return a finite number, None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def numbers(value: JsonValue) -> dict[str, float]:
    """Return the finite numbers of a mapping by name, in the order of the names."""
    if not isinstance(value, dict):
        return {}
    found = {name: number(value[name]) for name in sorted(value)}
    return {name: entry for name, entry in found.items() if entry is not None}


def curve(result: Mapping[str, JsonValue]) -> dict[int, float]:
    """Return the held-out loss in nats by tokens seen."""
    points = result.get("held_out_curve")
    found: dict[int, float] = {}
    for point in points if isinstance(points, list) else []:
        if isinstance(point, list) and len(point) == 2:
            tokens, loss = number(point[0]), number(point[1])
            if tokens is not None and loss is not None:
                found[int(tokens)] = loss
    return found
