"""Plain YAML scalars to values: YAML 1.2's core schema; scalars that YAML 1.1 reads differently are errors.

YAML 1.2.2 section 10.3.2; YAML 1.1 as in yaml.org/type, which PyYAML follows. One exception: an exponent without a
decimal point (`1e-3`) is text in YAML 1.1, but is accepted as the number that it is in YAML 1.2.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

Scalar = None | bool | int | float | str

LARGEST_INTEGER = 2**53  # beyond it, integers are not exact as doubles and JSON numbers
NUMBER_CHARACTERS_AT_MOST = 100

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OLD_BOOLEAN = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_OTHER_BASE = re.compile(r"[-+]?0([oO]_*[0-7][0-7_]*|[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|[bB]_*[01][01_]*)")
_UNDERSCORES = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][-0-9:.+Zz \t]*)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Misread:
    """A plain scalar that is ambiguous or out of range; the message has a correction."""

    message: str


def plain_scalar(text: str) -> Scalar | Misread:
    """Return the value of an unquoted scalar."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if text.lower() in _OLD_BOOLEAN and text in (text.lower(), text.upper(), text.capitalize()):
        meant = _OLD_BOOLEAN[text.lower()]
        return Misread(f"{text} is a boolean to some YAML readers; write {meant}, or quote it: '{text}'")
    if text[0] in "+-.0123456789":
        return _numeric(text)
    return text


def _numeric(text: str) -> Scalar | Misread:
    read = next((read for form, read in _FORMS if form.fullmatch(text)), None)
    if read is None:
        return text
    if len(text) > NUMBER_CHARACTERS_AT_MOST:
        return Misread(f"a number of {len(text)} characters; write a shorter one, or quote it to make it text")
    return read(text)


def _integer(text: str) -> Scalar | Misread:
    value = int(text)
    if abs(value) > LARGEST_INTEGER:
        return Misread(f"{value} is beyond 2^53, the largest exact integer; write a smaller one, or quote it")
    return value


def _real(text: str) -> Scalar | Misread:
    """Return a real number; a whole number with an exponent (`2e6`) becomes an integer, so that it can be a count."""
    value = float(text)
    if math.isinf(value):
        return _not_finite(text)
    counts = "e" in text.lower() and value.is_integer() and abs(value) <= LARGEST_INTEGER
    return int(value) if counts else value


def _not_finite(text: str) -> Misread:
    return Misread(f"{text} is not finite; write a finite number")


def _date(text: str) -> Misread:
    return Misread(f"{text} is a date to some YAML readers; quote it: '{text}'")


def _octal_looking(text: str) -> Misread:
    meant = int(text.replace("_", ""))
    return Misread(f"{text} is an octal-looking integer; write {meant}, or quote it: '{text}'")


def _other_base(text: str) -> Misread:
    meant = int(text.replace("_", ""), 0)
    return Misread(f"{text} is not a decimal number; write {meant}, or quote it: '{text}'")


def _underscores(text: str) -> Misread:
    return Misread(f"{text} has underscores; write {text.replace('_', '')}, or quote it: '{text}'")


def _base_60(text: str) -> Misread:
    total = 0.0
    for part in text.lstrip("+-").replace("_", "").split(":"):
        total = 60 * total + float(part or 0)
    sign = "-" if text.startswith("-") else ""
    reading = f"a sexagesimal number ({sign}{total:.15g}) to some YAML readers"
    return Misread(f"{text} is {reading}; write one number, or quote it: '{text}'")


# in order of precedence
_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], Scalar | Misread]], ...] = (
    (_NOT_FINITE, _not_finite),
    (_DATE, _date),
    (_INTEGER, _integer),
    (_LEADING_ZERO, _octal_looking),
    (_REAL, _real),
    (_OTHER_BASE, _other_base),
    (_UNDERSCORES, _underscores),
    (_BASE_60, _base_60),
)
