"""The editor's schema follows the types; overrides of a scale may leave everything out."""

import json
from typing import Any

from runners.asked.experiment import Experiment
from runners.loading.schema import editor_schema, schema_text


def resolved(schema: Any, reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        schema = schema[part]
    return schema


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [found for item in schema for found in references(item)]
    if not isinstance(schema, dict):
        return []
    here = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return here + [found for item in schema.values() for found in references(item)]


def test_every_field_and_the_scales_are_keys() -> None:
    assert set(editor_schema(Experiment)["properties"]) == {*Experiment.model_fields, "scales"}  # type: ignore[arg-type]


def test_every_reference_leads_somewhere() -> None:
    schema = editor_schema(Experiment)
    assert all(resolved(schema, reference) for reference in references(schema))


def test_nothing_is_required_within_a_scale_and_unknown_keys_still_are_mistakes() -> None:
    schema = editor_schema(Experiment)
    definitions: Any = schema["$defs"]
    partial = {name: each for name, each in definitions.items() if name.startswith("Partial")}
    assert "PartialExperiment" in partial
    for definition in partial.values():
        assert "required" not in definition
        assert definition.get("additionalProperties") is False or "properties" not in definition
        assert all(reference.startswith("#/$defs/Partial") for reference in references(definition))


def test_the_written_schema_is_sorted_and_ends_in_a_newline() -> None:
    text = schema_text(Experiment)
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
