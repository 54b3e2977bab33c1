"""The schema that editors check any experiment file with: a timing experiment where it has a `timing` section."""

import json

from configuration.experiment import Experiment
from configuration.timing.experiment import TimingExperiment
from configuration.yaml.json_schema import DEFINITIONS, DIALECT, Schema, editor_schema


def files_schema() -> Schema:
    """Return the schema of both kinds of file; what they have in common is defined once."""
    trained, timed = editor_schema(Experiment), editor_schema(TimingExperiment)
    definitions: Schema = {}
    for schema in (trained, timed):
        schema.pop("$schema")
        own = schema.pop(DEFINITIONS)
        assert isinstance(own, dict)
        assert all(definitions.get(name, own[name]) == own[name] for name in own), "two definitions share a name"
        definitions |= own
    return {
        "$schema": DIALECT,
        "if": {"type": "object", "required": ["timing"]},
        "then": timed,
        "else": trained,
        DEFINITIONS: definitions,
    }


def files_schema_text() -> str:
    """Return the schema as it is written to disk: sorted keys, ending in a newline."""
    return json.dumps(files_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
