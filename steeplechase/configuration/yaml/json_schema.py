"""The JSON schema of an experiment file for editors: derived from the types, plus the scales."""

import json
from collections.abc import Callable

from pydantic import BaseModel

from search_space.candidate import Candidate
from steeplechase.configuration.yaml.field_docstrings import DescribingSchema
from steeplechase.configuration.yaml.inheritance import LIKE_KEY
from steeplechase.configuration.yaml.released_baseline import LIKE_KEY as BASELINE_LIKE
from steeplechase.configuration.yaml.released_baseline import like_schema
from steeplechase.configuration.yaml.scales import SCALES_KEY
from steeplechase.foundation.schema import JsonValue

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
    properties = {BASELINE_LIKE: like_schema(), **_mapping(_mapping(candidate)["properties"])}
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
