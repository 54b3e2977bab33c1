"""The editor's schema follows the types; in overrides of a scale no field is required."""

from collections.abc import Iterator
from typing import Any

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml.json_schema import editor_schema


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


def properties(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every property of a schema with the place of its name."""
    for key, inner in schema.items() if isinstance(schema, dict) else ():
        if key == "properties":
            yield from ((f"{place}.{name}", each) for name, each in inner.items())
        yield from properties(inner, f"{place}.{key}".removeprefix("."))


def test_every_key_and_every_option_has_a_description() -> None:
    schema = editor_schema(Experiment)
    definitions: Any = schema["$defs"]
    described = {
        **dict(properties(schema)),
        **{name: each for name, each in definitions.items() if "enum" not in each},
    }
    short = [place for place, each in described.items() if len(each.get("description", "").split()) < 3]
    assert short == []
    assert len(described) > 100


def test_an_editor_offers_the_names_of_options_alone() -> None:
    definitions: Any = editor_schema(Experiment)["$defs"]
    for name in ("Architecture", "PartialArchitecture"):
        offered = definitions[name]["properties"]["convolution"]["anyOf"]
        assert {
            "enum": ["depthwise", "dynamic", "gated_dynamic", "lightweight", "none", "span_dynamic"],
            "type": "string",
        } in offered


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
