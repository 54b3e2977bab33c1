"""Messages about wrong values: pydantic's errors, each located at its node, with the needed type and a correction."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from search_space.overrides import field_of_value
from steeplechase.configuration.yaml.errors import SHOWN_CHARACTERS, Keys, Location, Mistake, mistake, shown
from steeplechase.configuration.yaml.nodes import LARGEST_INTEGER, Entries, Leaf, Node, child
from steeplechase.configuration.yaml.schema_paths import (
    ResolvedLocation,
    allowed_locations,
    example,
    find,
    keys,
    kinds,
)
from steeplechase.configuration.yaml.text import missing_space
from steeplechase.foundation.errors import Violation, closest, did_you_mean, names_for
from steeplechase.foundation.schema import VARIANT_KEY, Name

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
    "string_too_short": "{shown} is too short; the least length is {min_length}",
    "string_too_long": "{shown} is too long; the largest length is {max_length}",
}
UNKNOWN_NAME = ("literal_error", "union_tag_invalid")
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
    if not hint and isinstance(value, str) and "text_files" in allowed and ("/" in value or "." in value):
        hint = f" Write {{ kind: text_files, path: {_bare(value)} }}"
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
        return f". Write [{_bare(value) if value != '' else repr(value)}]"
    if needed == "text" and isinstance(value, bool | int | float):
        return f". Quote it: '{_bare(value)}'"
    if needed == "a whole number" and isinstance(value, float) and value.is_integer():
        return f". Write {value:.0f}" if abs(value) <= LARGEST_INTEGER else f". {BEYOND}"
    if not isinstance(value, str):
        return ""
    if needed in ("a number", "a whole number") and _NUMBER_TEXT.fullmatch(value.removesuffix("%")):
        percent = value.endswith("%")
        return f". Write {float(value[:-1]) / 100:g}" if percent else f". Write {value[:60]}, without quotes"
    hint = missing_space(value) if needed == "a mapping" else ""
    return f". {hint[0].upper()}{hint[1:]}" if hint else ""


def _bare(value: bool | int | float | str) -> str:
    text = value if isinstance(value, str) else shown(value)
    return text[:60] if text.isprintable() else "…"


def _pattern(pattern: str) -> str:
    if pattern == NAME_PATTERN:
        return NAME_RULE
    return f"it must match {pattern}"


LOCATIONS_SHOWN_AT_MOST = 3


def mistakes_of_types(
    file: str, model: type[BaseModel], document: Node, error: ValidationError
) -> tuple[Mistake, ...]:
    """Return the mistakes of pydantic's errors, without consequences of mistakes that are reported already."""
    resolved_by_location: dict[Location, list[tuple[ResolvedLocation, ErrorDetails]]] = defaultdict(list)
    found = [(find(model, document, detail["loc"]), detail) for detail in error.errors(include_url=False)]
    misspelt = {_meant(resolved, detail) for resolved, detail in found}
    found = [(resolved, detail) for resolved, detail in found if not _counts_wrong_items(detail, found)]
    for resolved, detail in found:
        if not _is_consequence(resolved, detail["type"]) and detail["loc"] not in misspelt:
            resolved_by_location[_location(resolved, detail["type"])].append(
                (resolved, _as_written(resolved, detail))
            )
    mistakes = []
    for location, details in resolved_by_location.items():
        deeper = any(
            other.path[: len(location.path)] == location.path != other.path for other in resolved_by_location
        )
        messages = _joined(details, deeper) if len(details) > 1 or deeper else [_message(model, *details[0])]
        mistakes += [mistake(file, location, message) for message in messages]
    return tuple(mistakes)


def mistakes_of_rules(file: str, document: Node, violations: Iterable[Violation]) -> tuple[Mistake, ...]:
    """Return the mistakes of a declaration's own violations, each at its node or the nearest parent."""
    return tuple(mistake(file, _nearest(document, each.path), each.message) for each in violations)


def _nearest(document: Node, path: Keys) -> Location:
    node = document
    for position, key in enumerate(path):
        below = child(node, key)
        if below is None:
            return node.location.under(*path[position:])
        node = below
    return node.location


def _counts_wrong_items(detail: ErrorDetails, found: Iterable[tuple[ResolvedLocation, ErrorDetails]]) -> bool:
    """Return whether a list is too short only because pydantic does not count the items that are wrong."""
    at = detail["loc"]
    return detail["type"] == "too_short" and any(
        other["loc"] != at and other["loc"][: len(at)] == at for _, other in found
    )


def _as_written(resolved: ResolvedLocation, detail: ErrorDetails) -> ErrorDetails:
    """Return the error with the value in the file as its input, not a validator's converted value."""
    if resolved.missing_keys or not isinstance(resolved.node, Leaf):
        return detail
    return {**detail, "input": resolved.node.value}


def _is_consequence(resolved: ResolvedLocation, kind: str) -> bool:
    """Return whether the error is a consequence of an unreadable value or key, which is reported already.

    The names that are allowed in its place are said instead.
    """
    if isinstance(resolved.node, Leaf):
        return resolved.node.flawed and (resolved.node.value is None or kind not in UNKNOWN_NAME)
    return isinstance(resolved.node, Entries) and resolved.node.flawed and kind in ("missing", "union_tag_not_found")


def _meant(resolved: ResolvedLocation, detail: ErrorDetails) -> tuple[int | str, ...] | None:
    """Return where the key would be that an unknown key is a misspelling of; None for others."""
    if detail["type"] != "extra_forbidden":
        return None
    key, known = str(detail["loc"][-1]), keys(resolved.owner)
    meant = closest(unicodedata.normalize("NFKC", key), known)
    return None if meant is None else (*detail["loc"][:-1], meant)


def _location(resolved: ResolvedLocation, kind: str) -> Location:
    if kind == "union_tag_invalid":
        tag = child(resolved.node, VARIANT_KEY)
        return tag.location if tag is not None else resolved.node.location
    if kind == "union_tag_not_found":
        return resolved.node.location.under(VARIANT_KEY)
    return resolved.node.location.under(*(key for key in resolved.missing_keys if kind == "missing"))


def _joined(details: list[tuple[ResolvedLocation, ErrorDetails]], deeper: bool) -> list[str]:
    """Return one message for a union if no member fits; of a member that nearly fits, only its own errors."""
    other = [message_of(detail) for _, detail in details if detail["type"] not in (*NEEDED, "literal_error")]
    if deeper or other:
        return list(dict.fromkeys(other))
    needed = [NEEDED.get(detail["type"]) or str(detail.get("ctx", {}).get("expected")) for _, detail in details]
    return [mismatch(details[0][1]["input"], " or ".join(dict.fromkeys(needed)))]


def _message(model: type[BaseModel], resolved: ResolvedLocation, detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "missing":
        return _missing(resolved)
    if kind == "extra_forbidden":
        return _unknown_key(model, resolved, str(detail["loc"][-1]), detail["input"])
    if kind == "union_tag_not_found":
        return f"this key is missing; allowed: {', '.join(kinds(resolved.expected))}"
    if kind == "union_tag_invalid":
        return _unknown_option(resolved, detail)
    if kind == "model_attributes_type" and kinds(resolved.expected):
        return mismatch(
            detail["input"], f"the name of an option ({', '.join(kinds(resolved.expected))}) or a mapping"
        )
    return message_of(detail)


def _unknown_option(resolved: ResolvedLocation, detail: ErrorDetails) -> str:
    known = kinds(resolved.expected)
    tag = resolved.node if isinstance(resolved.node, Leaf) else child(resolved.node, VARIANT_KEY)
    name = tag.value if isinstance(tag, Leaf) else "this"
    if (of := field_of_value(str(name), known.values())) is not None:
        return f"{shown(name)} is a value of {of[0]}; write {{ kind: {of[1]}, {of[0]}: {name} }}"
    return not_among(name, ", ".join(map(repr, known)) or str(detail.get("ctx", {}).get("expected_tags")))


def _missing(resolved: ResolvedLocation) -> str:
    key = resolved.missing_keys[-1]
    if isinstance(key, int):
        return f"item {key + 1} of the list is missing"
    given = example(resolved.expected, key)
    hint = f"; for example {key}: {json.dumps(given, ensure_ascii=False)}" if given is not None else ""
    return f"this key is missing{hint}"


def _elsewhere(model: type[BaseModel], key: str) -> str:
    """Return where a key belongs, sections of the experiment first, by its name here or another; empty if nowhere."""
    for name in (key, *names_for(key)):
        places = sorted(allowed_locations(model, name), key=lambda place: place.count("."))[:LOCATIONS_SHOWN_AT_MOST]
        if places:
            called = "It" if name == key else f"Here it is {name!r}, which"
            return f" {called} belongs under {', '.join(location or 'the top level' for location in places)}."
    return ""


def _nested(key: str, value: object) -> str:
    """Return how a dotted key is written as keys inside each other."""
    first, *rest = key.split(".")
    inside = shown(value) if isinstance(value, bool | int | float | str) else "…"
    return f" Write {first}: {' '.join(f'{{ {part}:' for part in rest)} {inside}{' }' * len(rest)}"


def _unknown_key(model: type[BaseModel], resolved: ResolvedLocation, key: str, value: object) -> str:
    known = keys(resolved.owner)
    shown_key = shown(key) if key.isascii() else ascii(key[:SHOWN_CHARACTERS])
    hint = did_you_mean(unicodedata.normalize("NFKC", key), known)
    others = [kind for kind, option in kinds(resolved.alternatives).items() if key in option.model_fields]
    if others:
        hint += f" It belongs to the kind {', '.join(others)}."
    elif "." in key and key.partition(".")[0] in known and key.isprintable():
        hint = _nested(key, value)
    elif key != VARIANT_KEY and not {*names_for(key)} & {*known}:
        hint = _elsewhere(model, key) or hint  # a key of this very name, before one that is merely similar
    return (
        f"{shown_key} is not a key here.{hint}"
        if hint
        else f"{shown_key} is not a key here; allowed: {', '.join(known)}"
    )
