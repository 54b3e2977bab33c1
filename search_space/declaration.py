"""Declarations: frozen, strict values that say what is to be built or done, and their canonical text."""

import hashlib
import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

__all__ = ["JsonValue"]

VARIANT_KEY = "kind"  # the tag of every union; always part of the canonical text, even where it is the default


class Declaration(BaseModel):
    """A frozen, strict value: unknown keys fail, types are never coerced, defaults are the baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ExponentText(str):
    """A plain YAML scalar such as `1e-3`: text until a numeric field asks for it (PyYAML issues 173 and 417)."""

    __slots__ = ()


def _number_from_exponent(value: object) -> object:
    return float(value) if isinstance(value, ExponentText) else value


def _count_from_exponent(value: object) -> object:
    if isinstance(value, ExponentText) and float(value).is_integer():
        return int(float(value))
    return value


Number = Annotated[float, BeforeValidator(_number_from_exponent)]
"""A finite real number; a whole number is accepted, and so is exponent notation (`1e-3`)."""

PositiveNumber = Annotated[float, BeforeValidator(_number_from_exponent), Field(gt=0)]
Share = Annotated[float, BeforeValidator(_number_from_exponent), Field(ge=0, le=1)]
"""A share of a whole, from 0 to 1."""

Count = Annotated[int, BeforeValidator(_count_from_exponent), Field(ge=1, le=2**53)]
"""A whole number from 1; exponent notation is accepted where it is whole (`2e6`)."""

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A name that is safe in a path, a table and a URL."""


def canonical(declaration: BaseModel) -> dict[str, JsonValue]:
    """Return the declaration as plain JSON without the fields that are at their default.

    An axis left at its default never enters a key, so adding an axis orphans no earlier result. The tag of a
    union (`kind`) is always kept: pydantic's own `exclude_defaults` drops it, and two options then share a key.
    """
    document: dict[str, JsonValue] = {}
    for name, field in type(declaration).model_fields.items():
        value = getattr(declaration, name)
        if name == VARIANT_KEY or value != field.get_default(call_default_factory=True):
            document[name] = _plain(value)
    return document


def _plain(value: Any) -> JsonValue:
    if isinstance(value, BaseModel):
        return canonical(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value + 0.0  # -0.0 equals 0.0 and must not be told apart
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} has no plain form")


def canonical_text(value: JsonValue) -> str:
    """Return JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(value: JsonValue) -> str:
    """Return the sha256 of the canonical text as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()
