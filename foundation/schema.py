"""Base of all declarations: frozen, strict pydantic models, and their canonical text."""

import hashlib
import json
from collections.abc import Collection, Iterator
from typing import Annotated, Any, ClassVar, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    create_model,
)
from pydantic_core import CoreSchema, core_schema

__all__ = ["JsonValue"]

VARIANT_KEY = "kind"  # the tag of every union; always part of the canonical text, even at its default
NAMES_ALONE = "names alone"


class Schema(BaseModel):
    """A frozen, strict value: unknown keys fail, types are never coerced, defaults are the baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    described_by: ClassVar[tuple[type[BaseModel], ...]] = ()
    """Of a generated declaration: the declarations whose docstrings describe its fields."""


PositiveNumber = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
"""A share of a whole, from 0 to 1."""

Count = Annotated[int, Field(ge=1, le=2**53)]
"""A whole number from 1."""

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]

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
        """Return the JSON schema for editors, which allows both names and mappings."""
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


def partial(*declarations: type[Schema]) -> type[Schema]:
    """Return a declaration of all their fields, each of which may be left out: it is None then."""
    fields: dict[str, Any] = {}
    for name, field in ((name, field) for each in declarations for name, field in each.model_fields.items()):
        bounded: Any = field.annotation
        if field.metadata:
            bounded = cast("Any", Annotated)[(field.annotation, *field.metadata)]
        fields[name] = (bounded | None, Field(default=None, examples=field.examples))
    made = create_model("Partial", __base__=Schema, **fields)
    made.described_by = declarations
    return made


def canonical(declaration: BaseModel, always: Collection[str] = ()) -> dict[str, JsonValue]:
    """Return the declaration as plain JSON without the fields that are at their default and not always written.

    An axis at its default never enters a key, so a new axis does not change existing keys. The tag of a union
    (`kind`) is always included: pydantic's `exclude_defaults` drops it, and two options would then share a key.
    """
    document: dict[str, JsonValue] = {}
    for name, field in type(declaration).model_fields.items():
        value = getattr(declaration, name)
        if name == VARIANT_KEY or name in always or value != field.get_default(call_default_factory=True):
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
