"""Base of all declarations: frozen, strict pydantic models, and their canonical text."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
)
from pydantic_core import CoreSchema, core_schema

__all__ = ["JsonValue"]

VARIANT_KEY = "kind"  # the tag of every union; always part of the canonical text, even at its default
NAMES_ALONE = "names alone"


class Schema(BaseModel):
    """A frozen, strict value: unknown keys fail, types are never coerced, defaults are the baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ExponentText(str):
    """A plain YAML scalar such as `1e-3`: text until a numeric field asks for it (PyYAML issues 173 and 417)."""

    __slots__ = ()


def _number_from_exponent(value: object) -> object:
    return float(value) if isinstance(value, ExponentText) else value


def whole_from_exponent(value: object) -> object:
    """Return a whole number written with an exponent as an integer, and everything else as it is."""
    if isinstance(value, ExponentText) and float(value).is_integer():
        return int(float(value))
    return value


def _whole_inside(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _whole_inside(inner) for key, inner in value.items()}
    return whole_from_exponent(value)


def _number_inside(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _number_inside(inner) for key, inner in value.items()}
    return _number_from_exponent(whole_from_exponent(value))


NamingValue = Annotated[Any, BeforeValidator(_whole_inside)]
"""A value of an axis that names arms: a whole number is one however it is written, and `1e-3` keeps its text."""

DrawnValue = Annotated[Any, BeforeValidator(_number_inside)]
"""A value of an axis that candidates are drawn from: every number is one however it is written."""

Number = Annotated[float, BeforeValidator(_number_from_exponent)]
"""A finite real number; a whole number is accepted, and so is exponent notation (`1e-3`)."""

PositiveNumber = Annotated[float, BeforeValidator(_number_from_exponent), Field(gt=0)]
Share = Annotated[float, BeforeValidator(_number_from_exponent), Field(ge=0, le=1)]
"""A share of a whole, from 0 to 1."""

Whole = Annotated[int, BeforeValidator(whole_from_exponent)]
"""A whole number; exponent notation is accepted where it is whole (`2e6`). Every integer field is one of these."""

Count = Annotated[Whole, Field(ge=1, le=2**53)]
"""A whole number from 1."""

Seed = Annotated[Whole, Field(ge=0, le=2**32 - 1)]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A name that is safe in a path, a table and a URL."""


class OptionByKind:
    """Marks a union of options: a mapping chooses by its `kind`; a name alone is the option with its defaults.

    Names alone are allowed in files only. JSON comes from serialised declarations, where every option is a mapping;
    it bypasses the Python validator, because tuples would stay lists behind it.
    """

    def __get_pydantic_core_schema__(self, union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the tagged union; values from Python first pass a validator that turns a name into a mapping."""
        tagged = handler.generate_schema(Annotated[union, Field(discriminator=VARIANT_KEY)])
        named = core_schema.no_info_before_validator_function(_option_named, tagged)
        return core_schema.json_or_python_schema(tagged, named, metadata={NAMES_ALONE: list(_names_alone(union))})

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema for editors, which allows names alone beside mappings."""
        names = schema["metadata"][NAMES_ALONE]
        return {"anyOf": [{"enum": names, "type": "string"}, handler(schema)]} if names else handler(schema)


OPTION = OptionByKind()


def _option_named(value: object) -> object:
    return {VARIANT_KEY: value} if isinstance(value, str) else value


def _names_alone(union: Any) -> Iterator[str]:
    """Yield the kinds of the options whose fields all have defaults."""
    for option in get_args(union):
        if not any(field.is_required() for field in option.model_fields.values()):
            yield from map(str, get_args(option.model_fields[VARIANT_KEY].annotation))


def canonical(declaration: BaseModel) -> dict[str, JsonValue]:
    """Return the declaration as plain JSON without the fields that are at their default.

    An axis at its default never enters a key, so a new axis does not change existing keys. The tag of a union
    (`kind`) is always included: pydantic's `exclude_defaults` drops it, and two options would then share a key.
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
        return value + 0.0  # -0.0 equals 0.0 and needs the same text
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} has no plain form")


def canonical_text(value: JsonValue) -> str:
    """Return JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(value: JsonValue) -> str:
    """Return the sha256 of the canonical text as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()
