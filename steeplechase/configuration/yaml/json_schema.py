"""The JSON schema of an experiment file for editors: derived from the types, plus the scales.

Descriptions are parsed from the docstrings below the fields when a schema is made. Pydantic can parse them too
(`use_attribute_docstrings`), but it does so at import of every declaration, which would slow down every command.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from search_space.candidate import Candidate
from steeplechase.configuration.yaml.scales import LIKE_KEY, SCALES_KEY, like_schema
from steeplechase.foundation.schema import JsonValue


class DescribingSchema(GenerateJsonSchema):
    """Pydantic's schema, with a description for every field that has a docstring."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of one declaration."""
        document = super().model_schema(schema)
        for name, text in field_docstrings(schema["cls"]).items():
            if name in document.get("properties", {}):
                document["properties"][name].setdefault("description", text)
        return document


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring below each field by the field's name; a subclass's overrides that of its base."""
    declarations = [each for each in reversed(model.__mro__) if issubclass(each, BaseModel) and each is not BaseModel]
    return {name: text for each in declarations for name, text in _docstrings(each).items()}


@cache  # a declaration is part of many schemas, and each reading parses its whole file
def _docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    if "described_by" in vars(model):  # generated from other declarations, without source code of its own
        return {name: text for each in vars(model)["described_by"] for name, text in field_docstrings(each).items()}
    found: dict[str, str] = {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    for field, after in pairwise(definition.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found


DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFINITIONS = "$defs"
PARTIAL = "Partial"

Schema = dict[str, JsonValue]


def editor_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of the model's files: its own properties, and `scales` with partial overrides."""
    schema: Schema = model.model_json_schema(schema_generator=DescribingSchema)
    definitions = _with_like(_mapping(schema.pop(DEFINITIONS, {})))
    partial = {PARTIAL + name: _partial(definition) for name, definition in definitions.items()}
    scale = PARTIAL + model.__name__
    partial[scale] = _partial({**schema, "description": "Overrides of a scale; other fields are as in the file."})
    overrides: Schema = {
        "type": "object",
        "description": "The experiment at several sizes: overrides by scale.",
        "properties": {LIKE_KEY: {"type": "string", "description": "A file whose scales are inherited."}},
        "additionalProperties": {"anyOf": [{"$ref": f"#/{DEFINITIONS}/{scale}"}, {"type": "null"}]},
    }
    properties = _mapping(schema["properties"]) | {SCALES_KEY: overrides}
    return schema | {"$schema": DIALECT, "properties": properties, DEFINITIONS: definitions | partial}


def _with_like(definitions: Schema) -> Schema:
    """Return the definitions; a baseline may begin with a released model."""
    candidate = definitions.get(Candidate.__name__)
    if candidate is None:
        return definitions
    properties = {LIKE_KEY: like_schema(), **_mapping(_mapping(candidate)["properties"])}
    return definitions | {Candidate.__name__: {**_mapping(candidate), "properties": properties}}


def schema_text(schema: Schema) -> str:
    """Return a schema as text: sorted keys, with a newline at the end."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _partial(schema: JsonValue) -> JsonValue:
    """Return the schema without required fields, with references to partial definitions."""
    if isinstance(schema, list):
        return [_partial(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    loosened: Schema = {}
    for key, value in schema.items():
        if key in _LOOSENED:
            loosened |= _LOOSENED[key](value)
        elif key in _VERBATIM:
            loosened[key] = value
        elif key == "properties":
            loosened[key] = {name: _partial(item) for name, item in _mapping(value).items()}
        else:
            loosened[key] = _partial(value)
    return loosened


_LOOSENED: dict[str, Callable[[JsonValue], Schema]] = {
    "required": lambda _: {},
    "discriminator": lambda _: {},
    "oneOf": lambda value: {"anyOf": _partial(value)},
    "$ref": lambda value: {"$ref": str(value).replace(f"#/{DEFINITIONS}/", f"#/{DEFINITIONS}/{PARTIAL}")},
}
_VERBATIM = frozenset({"default", "examples", "enum", "const"})


def _mapping(value: JsonValue) -> Schema:
    assert isinstance(value, dict)
    return value
