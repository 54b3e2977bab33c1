"""Values of a declaration's keys as text: what is allowed, the default, and an example as YAML in one line."""

import json
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from search_space.architecture_kind import ArchitectureByKind
from steeplechase.configuration.yaml.json_schema import DescribingSchema
from steeplechase.configuration.yaml.nodes import plain_scalar
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.schema import VARIANT_KEY, JsonValue

NAMES = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "`true` or `false`",
    "null": "`null`",
    "object": "mapping",
    "array": "list",
}
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
INDICATORS = frozenset(":#{}[],&*!|>'\"%@`")
"""Letters that may begin something else than text in YAML."""
REQUIRED = "**required**"
ONE_LINE = 70
Schema = dict[str, Any]


class AllowedValues:
    """What the keys of one declaration allow, by its JSON schema."""

    def __init__(self, model: type[BaseModel]) -> None:
        schema = model.model_json_schema(schema_generator=DescribingSchema)
        self._definitions: Schema = schema.get("$defs", {})
        own = self._definitions.get(schema["$ref"].rpartition("/")[2], {}) if "$ref" in schema else schema
        self._properties: Schema = own.get("properties", {})

    def text(self, key: str) -> str:
        """Return the allowed values of a key."""
        return _joined(self._atoms(self._properties[key]))

    def description(self, key: str) -> str:
        """Return the docstring of a key as one line, with YAML's word for None."""
        return " ".join(str(self._properties[key].get("description", "")).split()).replace("None: ", "null: ")

    def _atoms(self, schema: Schema) -> list[str]:
        """Return the alternatives, each once: values in backticks, and kinds of values in words."""
        if "$ref" in schema:
            return self._referenced(schema["$ref"])
        if "const" in schema or "enum" in schema:
            return [f"`{value}`" for value in schema.get("enum", [schema.get("const")])]
        alternatives = schema.get("anyOf") or schema.get("oneOf")
        if alternatives:
            return self._alternatives(alternatives)
        return [self._typed(schema)]

    def _alternatives(self, alternatives: list[Schema]) -> list[str]:
        single = [each for each in alternatives if each.get("type") != "array"]
        atoms = [*dict.fromkeys(atom for each in single for atom in self._atoms(each))]
        for each in alternatives:
            if each not in single:
                inner = self._items(each)
                atoms.append("list of these" if inner == atoms and len(atoms) > 1 else f"list of: {_joined(inner)}")
        return atoms

    def _items(self, schema: Schema) -> list[str]:
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return [*dict.fromkeys(atom for item in items for atom in self._atoms(item))]

    def _referenced(self, reference: str) -> list[str]:
        definition = self._definitions[reference.rpartition("/")[2]]
        kind = definition.get("properties", {}).get(VARIANT_KEY, {}).get("const")
        if kind is not None:
            return [f"`{kind}`"]
        return self._atoms(definition) if "properties" not in definition else ["mapping"]

    def _typed(self, schema: Schema) -> str:
        kind = str(schema.get("type", ""))
        if kind == "array":
            return f"list of: {_joined(self._items(schema))}"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return f"mapping of names to: {_joined(self._atoms(schema['additionalProperties']))}"
        given = {sign: schema[name] for name, sign in BOUNDS.items() if schema.get(name) not in (None, 2**53)}
        stricter = {"≥": ">", "≤": "<"}
        bounds = [
            f"{sign} {bound if isinstance(bound, int) else format(bound, 'g')}"
            for sign, bound in given.items()
            if given.get(stricter.get(sign, "")) != bound
        ]
        return " ".join(filter(None, [NAMES.get(kind, "any value"), ", ".join(bounds)]))


def _joined(atoms: list[str]) -> str:
    """Return alternatives as text: values by commas, kinds of values after them."""
    values = [atom for atom in atoms if atom.startswith("`")]
    words = [atom for atom in atoms if not atom.startswith("`")]
    return " or ".join(filter(None, [", ".join(values), *words]))


def default_of(model: type[BaseModel], key: str) -> str:
    """Return the default of a key as text."""
    field = model.model_fields[key]
    if field.is_required():
        return REQUIRED
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        kind = getattr(value, VARIANT_KEY, None)
        return f"`{kind}`" if kind is not None else "its defaults"
    text = flow(_plain(value))
    return f"`{text}`" if len(text) <= ONE_LINE else "see the file"


def example_of(model: type[BaseModel]) -> dict[str, JsonValue] | None:
    """Return the declaration's own example, or the required fields by their examples; None if one is missing."""
    own: Any = model.model_config.get("json_schema_extra")
    if isinstance(own, dict) and own.get("examples"):
        return dict(own["examples"][0])
    kind = model.model_fields.get(VARIANT_KEY)
    document: dict[str, JsonValue] = {} if kind is None else {VARIANT_KEY: str(get_args(kind.annotation)[0])}
    for name, field in model.model_fields.items():
        if name != VARIANT_KEY and field.is_required():
            if not field.examples:
                return None
            document[name] = field.examples[0]
    return document


def flow(value: JsonValue) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{name}: {flow(item)}" for name, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str) and value and not _needs_quotes(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _needs_quotes(text: str) -> bool:
    return plain_scalar(text) != text or text[0] in "-?" or text != text.strip() or bool(set(text) & INDICATORS)


def _plain(value: Any) -> JsonValue:
    if value is PydanticUndefined or value is None:
        return None
    if isinstance(value, BaseModel):
        return canonical(value)
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else str(value)


def keys_of(model: type[BaseModel]) -> Iterator[str]:
    """Yield the keys of a declaration, without a `kind` that has one value alone and without the encoder's keys."""
    foreign = set(keys_like_the_encoders(model))
    if issubclass(model, ArchitectureByKind) and model.own_fields:
        foreign |= model.model_fields.keys() - set(model.own_fields)
    for name, field in model.model_fields.items():
        if name not in foreign and (name != VARIANT_KEY or len(get_args(field.annotation)) > 1):
            yield name


def keys_like_the_encoders(model: type[BaseModel]) -> Iterator[str]:
    """Yield the keys of another kind of architecture that mean the same as the encoder's; else nothing."""
    if issubclass(model, ArchitectureByKind) and model.own_fields:
        encoder = model.__mro__[1]
        assert issubclass(encoder, BaseModel)
        for name in model.own_fields:
            if repr(model.model_fields[name]) == repr(encoder.model_fields.get(name)):
                yield name
