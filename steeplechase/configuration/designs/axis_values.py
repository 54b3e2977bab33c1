"""Values of an axis: a list, or a range of numbers, `{ low, high, step }` or `{ low, high, log: true }`.

A range is expanded to its values when the file is read, so that it means the same as the list of them.
"""

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

VALUES_AT_MOST = 1024
PER_DECADE = 10
"""Values of a logarithmic range from one to ten times as much, as in the series R10 of ISO 3."""
DIGITS_OF_LOG, DIGITS_OF_STEPS = 3, 12
"""Significant digits to which values are rounded; the ends of a logarithmic range are kept as they are."""
KEYS = ("low", "high", "step", "log")
FORMS = "{ low: 3, high: 15, step: 2 } or { low: 1e-4, high: 1e-2, log: true }"
RANGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A range: from `low` to `high` in steps, or with equal ratios of neighbours, ten to a decade.",
    "additionalProperties": False,
    "required": ["low", "high"],
    "properties": {
        "low": {"type": "number", "description": "The smallest value."},
        "high": {"type": "number", "description": "The largest value, if the steps meet it."},
        "step": {"type": "number", "exclusiveMinimum": 0, "description": "Difference of neighbours."},
        "log": {"const": True, "description": "Equal ratios of neighbours, in place of `step`."},
    },
}


class ListOrRange:
    """Marks a tuple of values that a file may give as a range."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the tuple; a mapping is expanded first. JSON is of recorded documents, with lists."""
        values = handler(source)
        expanding = core_schema.no_info_before_validator_function(_expanded, values)
        return core_schema.json_or_python_schema(values, expanding)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema for editors, which allows both."""
        return {"anyOf": [handler(schema), RANGE_SCHEMA]}


Axis = Annotated[tuple[Any, ...], ListOrRange()]


def _expanded(value: object) -> object:
    return values_of(value) if isinstance(value, Mapping) else value


def values_of(given: Mapping[str, Any]) -> tuple[int | float, ...]:
    """Return the values of a range in rising order. Raises ValueError with the rule that it breaks."""
    _check(given)
    low, high = given["low"], given["high"]
    return _spaced_by_ratio(low, high) if "log" in given else _spaced_by_step(low, high, given["step"])


def _check(given: Mapping[str, Any]) -> None:
    unknown = [key for key in given if key not in KEYS]
    if unknown or not {"low", "high"} <= given.keys() or ("step" in given) == ("log" in given):
        wrong = f"{', '.join(unknown)}: not a key of a range; " if unknown else ""
        wrong = wrong or ("step and log exclude each other; " if {"step", "log"} <= given.keys() else "")
        raise ValueError(f"{wrong}an axis is a list of values, or a range such as {FORMS}")
    for key in KEYS[:3]:
        number = given.get(key, 1)
        if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
            raise ValueError(f"{key} of a range is a number, not {number!r}")
    low, high = given["low"], given["high"]
    if low >= high:
        raise ValueError(f"the range from {low:g} to {high:g} is empty; low is less than high")
    if "step" in given and given["step"] <= 0:
        raise ValueError(f"step is {given['step']:g}; a number above 0 is needed")
    if "log" in given and (given["log"] is not True or low <= 0):
        raise ValueError("a logarithmic range has `log: true` and a low above 0")
    if not isfinite(high / low if "log" in given else (high - low) / given["step"]):
        raise ValueError(f"the range from {low:g} to {high:g} has more values than can be counted")


def _spaced_by_step(low: float, high: float, step: float) -> tuple[int | float, ...]:
    count = floor((high - low) / step + 1e-9) + 1
    if count > VALUES_AT_MOST:  # checked before they are made
        raise ValueError(f"this range has {count:,} values; at most {VALUES_AT_MOST:,} are allowed")
    whole = all(isinstance(number, int) for number in (low, high, step))
    values: Sequence[float] = [low + position * step for position in range(count)]
    return tuple(values) if whole else tuple(_rounded(value, DIGITS_OF_STEPS) for value in values)


def _spaced_by_ratio(low: float, high: float) -> tuple[int | float, ...]:
    count = max(1, round(PER_DECADE * log10(high / low)))
    inner = [low * (high / low) ** (position / count) for position in range(1, count)]
    if isinstance(low, int) and isinstance(high, int):
        return tuple(sorted({low, *map(round, inner), high}))
    return (float(low), *(_rounded(value, DIGITS_OF_LOG) for value in inner), float(high))


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
