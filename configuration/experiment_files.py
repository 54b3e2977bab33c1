"""Experiment files: which declaration a file holds, and the one schema that editors check all of them with.

A file with a `timing` section is a latency experiment; every other one trains.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.yaml import load
from configuration.yaml.json_schema import DEFINITIONS, DIALECT, Schema, editor_schema
from configuration.yaml.reading import read_document
from configuration.yaml.text import read_text

AnyExperiment = Experiment | LatencyExperiment
LATENCY_SECTION = "timing"


def load_experiment(path: Path, scale: str | None, context: Mapping[str, Any] | None = None) -> AnyExperiment:
    """Return the file's experiment at a scale, or without one. Raises ConfigurationError with every mistake."""
    document, _ = read_document(str(path), read_text(path))
    if LATENCY_SECTION in document.nodes:
        return load(path, LatencyExperiment, scale)
    return load(path, Experiment, scale, context)


def files_schema() -> Schema:
    """Return the schema of both kinds of file; what they have in common is defined once."""
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
    """Return the schema as it is written to disk: sorted keys, ending in a newline."""
    return json.dumps(files_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
