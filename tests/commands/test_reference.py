"""The reference page is complete, and its examples are accepted; that it is current is asked by `make check`."""

import re
from functools import cache
from pathlib import Path

from pydantic import create_model

from steeplechase.commands.reference import page, sections_of
from steeplechase.commands.reference_values import AllowedValues, example_of, flow, keys_like_the_encoders, keys_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml import load
from steeplechase.foundation.schema import Schema

SECTIONS = sections_of(Experiment)


@cache
def shown() -> str:
    return page()


def test_the_example_of_an_option_is_accepted_as_it_is_written(tmp_path: Path) -> None:
    options = {section.model: example_of(section.model) for section in SECTIONS if section.kind is not None}
    assert not [model for model, example in options.items() if example is None], "give required fields `examples`"
    for model, example in options.items():
        (tmp_path / "file.yaml").write_text(f"option: {flow(example)}\n")
        holder = create_model("Holder", __base__=Schema, option=(model, ...))
        assert type(load(tmp_path / "file.yaml", holder, None).option) is model  # type: ignore[attr-defined]


def test_every_kind_of_architecture_has_its_own_keys_and_names_the_encoders() -> None:
    kinds = {section.kind: section.model for section in SECTIONS if section.path == "baseline.architecture"}
    assert {None, "encoder_decoder", "module"} == kinds.keys()
    assert [*keys_of(kinds["module"])] == ["factory", "arguments"]
    assert {*keys_like_the_encoders(kinds["module"])} == {"vocabulary_size", "positions", "width", "embedding_width"}


def test_the_example_of_an_option_under_a_name_has_a_name() -> None:
    assert "own_tasks: { mine: { kind: features, of:" in shown()
    assert "structure: { layers: cells }" in shown()


def test_options_without_a_kind_have_the_names_of_what_they_are() -> None:
    headings = re.findall("(?m)^### (.*)$", shown())
    assert headings.count("`encoder`") == 1
    assert {"Higher claim", "Lower claim", "Level claim"} <= {*headings}


def test_every_key_has_values_and_a_meaning() -> None:
    for section in SECTIONS:
        allowed, keys = AllowedValues(section.model), keys_of(section.model)
        vague = {key for key in keys if "any value" in allowed.text(key)} - FREE
        silent = {key for key in keys if section.path != "plugins" and not allowed.description(key)}
        assert not vague | silent, section.path


FREE = {"arguments", "space", "vary", "arms", "components", "levels", "values"}
"""Keys whose values are fields of candidates, of any type."""
