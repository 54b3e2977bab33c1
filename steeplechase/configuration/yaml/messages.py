"""Messages about wrong values: the value, the needed type or range, and a correction."""

import re
from collections.abc import Mapping
from typing import get_args

from pydantic import TypeAdapter
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from steeplechase.configuration.yaml.errors import shown
from steeplechase.configuration.yaml.scalars import LARGEST_INTEGER
from steeplechase.configuration.yaml.syntax import missing_space
from steeplechase.foundation.errors import did_you_mean
from steeplechase.foundation.schema import Name

# what a field needs, by pydantic's error type
NEEDED = {
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_sub_type", "path_type"), "text"),
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "mapping_type"), "a mapping"),
}
_RULES = {
    "greater_than": "{shown} is out of range; more than {gt} is needed",
    "greater_than_equal": "{shown} is out of range; at least {ge} is needed",
    "less_than": "{shown} is out of range; less than {lt} is needed",
    "less_than_equal": "{shown} is out of range; at most {le} is allowed",
    "multiple_of": "{shown} is not a multiple of {multiple_of}",
    "finite_number": "{shown} is not finite; write a finite number",
    "too_short": "{actual_length} items are too few; at least {min_length} needed",
    "too_long": "{actual_length} items are too many; at most {max_length} allowed",
    "string_too_short": "{shown} is too short; at least {min_length} characters needed",
    "string_too_long": "{shown} is too long; at most {max_length} characters allowed",
}
_PYDANTIC_ERROR_TYPES = frozenset(get_args(ErrorType))
_NUMBER_TEXT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
BEYOND = "It is beyond 2^53, the largest exact integer"
NAME_RULE = "a name has 1 to 64 letters, digits, dots, dashes or underscores and starts with a letter or digit"
NAME_PATTERN = TypeAdapter(Name).json_schema()["pattern"]


def message_of(error: ErrorDetails) -> str:
    """Return the message for a validation error; messages of this project's own validators are unchanged."""
    kind = error["type"]
    if kind in ("value_error", "assertion_error"):
        return str(error["ctx"]["error"])
    return _translated(error) if kind in _PYDANTIC_ERROR_TYPES else error["msg"]


def _translated(error: ErrorDetails) -> str:
    kind, value = error["type"], error["input"]
    context: Mapping[str, object] = error.get("ctx", {})
    if kind in NEEDED:
        return mismatch(value, NEEDED[kind])
    if kind in _RULES:
        return _RULES[kind].format(shown=shown(value), **context).replace("1 items are", "1 item is")
    if kind in ("literal_error", "enum"):
        return not_among(value, str(context["expected"]))
    if kind == "string_pattern_mismatch":
        return f"{shown(value)} is not allowed; {_pattern(str(context['pattern']))}"
    return f"{shown(value)} is not allowed here"


def mismatch(value: object, needed: str) -> str:
    """Return the message about a value of the wrong type, with a correction."""
    if value is None:
        return f"the value is missing; {needed} is needed"
    return f"{_described(value)}; {needed} is needed{_remedy(value, needed)}"


def not_among(value: object, expected: str) -> str:
    """Return the message about an unknown value; `expected` lists the allowed ones as `'a', 'b' or 'c'`."""
    if value is None:
        return f"the value is missing; allowed: {expected}"
    allowed = re.findall(r"'([^']*)'", expected)
    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    return f"{shown(value)} is unknown; allowed: {expected}{'.' if hint else ''}{hint}"


def _described(value: object) -> str:
    if isinstance(value, bool):
        return f"{shown(value)} is a boolean"
    if isinstance(value, int):
        return f"{shown(value)} is a whole number"
    if isinstance(value, float):
        return f"{shown(value)} is a number with {'an exponent' if 'e' in repr(value) else 'a decimal point'}"
    if isinstance(value, str):
        return f"{shown(value)} is text"
    return "this is a mapping" if isinstance(value, Mapping) else "this is a list"


def _remedy(value: object, needed: str) -> str:
    """Return a correction, empty if the value suggests none."""
    if needed.startswith("a list") and isinstance(value, bool | int | float | str):
        return f". Write [{_bare(value)}]"
    if needed == "text" and isinstance(value, bool | int | float):
        return f". Quote it: '{_bare(value)}'"
    if needed == "a whole number" and isinstance(value, float) and value.is_integer():
        return f". Write {value:.0f}" if abs(value) <= LARGEST_INTEGER else f". {BEYOND}"
    if not isinstance(value, str):
        return ""
    if needed in ("a number", "a whole number") and _NUMBER_TEXT.fullmatch(value):
        return f". Write {value[:60]}, without quotes"
    hint = missing_space(value) if needed == "a mapping" else ""
    return f". {hint[0].upper()}{hint[1:]}" if hint else ""


def _bare(value: bool | int | float | str) -> str:
    text = value if isinstance(value, str) else shown(value)
    return text[:60] if text.isprintable() else "…"


def _pattern(pattern: str) -> str:
    if pattern == NAME_PATTERN:
        return NAME_RULE
    return f"it must match {pattern}"
