"""Metrics of a user's own: functions of the files that plugins put into this package, named `FILE:FUNCTION`.

A function is called as `function(references, predictions)` and returns a number in percent, or numbers by name;
larger is better, and NaN says that these predictions leave the metric undefined. Labels and tags are given by their
names, values as numbers, answers and targets as texts; of tagged words both arguments have one list per sentence.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import nan
from numbers import Real
from typing import Annotated, Any

from pydantic import AfterValidator

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.option_modules import place_of
from steeplechase.foundation.plugin_code import explained

Function = Callable[..., float | Mapping[str, float]]
FORM = re.compile(r"(?P<file>[a-z_][a-z0-9_]*):(?P<function>[a-z_][a-z0-9_]*)")
NAMED = re.compile(r"[A-Za-z0-9._-]+")
"""Names of metrics that a table and a file can have."""
LARGEST = 1e100
"""Size of a number, whose square a float can hold."""


def _formed(reference: str) -> str:
    if not FORM.fullmatch(reference):
        raise ValueError(f"{reference!r} is not FILE:FUNCTION, such as costs:weighted_accuracy")
    return reference


FunctionReference = Annotated[str, AfterValidator(_formed)]
"""`FILE:FUNCTION`: a function that FILE.py of a plugin defines, in `tasks/own_metrics/` or its like."""


def module_of(reference: str, package: str = __name__) -> str:
    """Return the module of a package that has the function of a reference."""
    return f"{package}.{reference.partition(':')[0]}"


def name_of(reference: str) -> str:
    """Return the name of the function, which is the metric's."""
    return reference.partition(":")[2]


def function_of(reference: str, package: str = __name__) -> Function:
    """Return the function of a reference. Raises DataError where its file does not define it."""
    module, name = module_of(reference, package), name_of(reference)
    try:
        found = vars(import_module(module)).get(name)
    except Exception as error:  # of the plugin's code
        raise DataError(f"{reference}: its file cannot be imported: {explained(error)}") from error
    if not inspect.isfunction(found) or found.__module__ != module:
        raise DataError(f"{reference}: {place_of(module)}.py defines no function {name}")
    return found


def own_scores(reference: str, references: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
    """Return the metrics of one function by name, in percent, NaN for an undefined one.

    Raises DataError as `own_numbers`.
    """
    return own_numbers(reference, function_of(reference), references, predictions, may_be_undefined=True)


def own_numbers(
    reference: str, function: Function, *arguments: Any, may_be_undefined: bool = False
) -> dict[str, float]:
    """Return the numbers that a function gives, by name: its own, or its own and theirs.

    Raises DataError where the function fails, or returns anything but finite numbers, and NaN where it may.
    """
    try:
        found = function(*arguments)
    except Exception as error:
        raise DataError(f"{reference}: {explained(error)}") from error
    name = name_of(reference)
    by_name = (
        {f"{name}.{part}": value for part, value in found.items()} if isinstance(found, Mapping) else {name: found}
    )
    numbers: dict[str, float] = {}
    for metric, value in by_name.items():
        number = nan if may_be_undefined and _is_nan(value) else _number(value)
        if number is None or not NAMED.fullmatch(metric):
            needed = f"a finite number up to {LARGEST:g}, or such numbers by name, is needed"
            raise DataError(f"{reference}: it returned {_shown(value)} for {metric!r:.80}; {needed}")
        numbers[metric] = number
    return numbers


def _is_nan(value: object) -> bool:
    return isinstance(value, Real) and value != value  # noqa: PLR0124 — NaN alone differs from itself


def _number(value: object) -> float | None:
    """Return a number of Python or numpy as a float; None for what is none, or too large to have a variance."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= LARGEST else None


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # an integer of thousands of digits
        return "an integer of thousands of digits"
