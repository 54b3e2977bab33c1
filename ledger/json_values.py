"""Reading a record's JSON: finite numbers and mappings of them, or nothing. NaN and text never become a value."""

import math

from foundation.schema import JsonValue


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
