"""JSON schema of experiment files: a latency experiment if there is a `timing` section, else one that trains."""

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.loading import LATENCY_SECTION
from steeplechase.configuration.yaml.json_schema import DEFINITIONS, DIALECT, Schema, editor_schema, schema_text


def files_schema() -> Schema:
    """Return the schema of both kinds of file; common definitions are shared."""
    trained, timed = editor_schema(Experiment), editor_schema(LatencyExperiment)
    definitions: Schema = {}
    for schema in (trained, timed):
        schema.pop("$schema")
        own = schema.pop(DEFINITIONS)
        assert isinstance(own, dict)
        assert all(definitions.get(name, own[name]) == own[name] for name in own), "two definitions share a name"
        definitions |= own
    return {
        "$schema": DIALECT,
        "if": {"type": "object", "required": [LATENCY_SECTION]},
        "then": timed,
        "else": trained,
        DEFINITIONS: definitions,
    }


def files_schema_text() -> str:
    """Return the schema as text: sorted keys, with a newline at the end."""
    return schema_text(files_schema())
