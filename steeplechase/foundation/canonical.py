"""Canonical text of declarations: plain JSON without defaults, sorted keys, and its fingerprint."""

import hashlib
import json
from collections.abc import Collection, Iterator
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined, from_json

from steeplechase.foundation.schema import VARIANT_KEY, JsonValue, cached_until_options_change


def canonical(declaration: BaseModel, always: Collection[str] = ()) -> dict[str, JsonValue]:
    """Return the declaration as plain JSON without the fields that are at their default and not always written.

    An axis at its default never enters a key, so a new axis does not change existing keys. The tag of a union
    (`kind`) is always included: pydantic's `exclude_defaults` drops it, and two options would then share a key.
    """
    document: dict[str, JsonValue] = {}
    for name, default in _defaults(type(declaration)).items():
        value = getattr(declaration, name)
        if name == VARIANT_KEY or name in always or value != default:
            document[name] = _plain(value)
    return document


@cached_until_options_change  # pydantic copies a default, or makes it, each time that it is asked
def _defaults(declaration: type[BaseModel]) -> dict[str, Any]:
    """Return the default of each field, `PydanticUndefined` without one."""
    fields = declaration.model_fields
    return {name: field.get_default(call_default_factory=True) for name, field in fields.items()}


def defaults_of(declaration: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the default of each field as plain JSON, None where a value is needed; without the tag of a union."""
    known = {name: value for name, value in _defaults(declaration).items() if name != VARIANT_KEY}
    return {name: None if value is PydanticUndefined else _plain(value) for name, value in known.items()}


def _plain(value: Any) -> JsonValue:
    if isinstance(value, BaseModel):
        return canonical(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value + 0.0  # -0.0 equals 0.0 and needs the same text
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} has no plain form")


def canonical_text(value: JsonValue) -> str:
    """Return JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def parsed_json(text: str) -> JsonValue:
    """Return a value from its JSON. Raises ValueError for invalid JSON, NaN, and more than 200 levels."""
    value: JsonValue = from_json(text, allow_inf_nan=False)
    return value


def json_in_html(value: object) -> str:
    """Return ASCII JSON that neither ends its `script` element nor begins an entity, for data and for scripts."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"})


def fingerprint(value: JsonValue) -> str:
    """Return the sha256 of the canonical text as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()


def differences(known: JsonValue, wanted: JsonValue, path: str = "") -> Iterator[str]:
    """Yield `a.b: 1 there, 2 here` for every value that differs; a missing value is at its default."""
    if isinstance(known, dict) and isinstance(wanted, dict):
        for name in sorted(known.keys() | wanted.keys()):
            yield from differences(known.get(name), wanted.get(name), f"{path}.{name}" if path else name)
    elif known != wanted:
        there, here = ("the default" if value is None else canonical_text(value) for value in (known, wanted))
        yield f"{path}: {there} there, {here} here"
