"""The reference page is current, complete, and its examples are accepted."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from search_space.released.models import PRESETS
from steeplechase.commands.reference import sections_of
from steeplechase.commands.reference_values import AllowedValues, example_of, flow, keys_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml import load
from steeplechase.configuration.yaml.nodes import plain, read_document
from steeplechase.foundation.schema import OpenOption, Schema, options_of
from steeplechase.tasks.downstream import task_names
from tests.factories.command_calls import ROOT, Call

SECTIONS = sections_of(Experiment)


def test_the_committed_page_is_what_the_command_prints(call: Call) -> None:
    answer = call("reference")
    assert answer.code == 0
    assert answer.out == (ROOT / "docs" / "reference.md").read_text(encoding="utf-8"), "make reference"


def test_the_example_of_an_option_is_accepted_as_it_is_written(tmp_path: Path) -> None:
    options = {section.model: example_of(section.model) for section in SECTIONS if section.kind is not None}
    assert not [model for model, example in options.items() if example is None], "give required fields `examples`"
    for model, example in options.items():
        (tmp_path / "file.yaml").write_text(f"option: {flow(example)}\n")
        holder = create_model("Holder", __base__=Schema, option=(model, ...))
        assert type(load(tmp_path / "file.yaml", holder, None).option) is model  # type: ignore[attr-defined]


def test_every_option_of_every_axis_hurdle_and_design_has_a_section() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    headings = {*re.findall(r"^### `(\w+)`$", text, re.MULTILINE)}
    axes = [
        axis for axis in subclasses(OpenOption) if "package" in vars(axis) and not axis.package.startswith("tests")
    ]
    declared = [option for axis in axes for option in options_of(axis)]
    kinds = {str(option.model_fields["kind"].default) for option in declared}
    assert len(axes) > 5
    assert kinds <= headings
    assert {"progressive_mean", "asha", "one_factor", "search", "text_files", "table", "adamw", "linear"} <= headings


def subclasses(option: type[OpenOption]) -> list[type[OpenOption]]:
    return [found for each in option.__subclasses__() for found in (each, *subclasses(each))]


def test_tasks_and_published_models_are_listed_with_what_they_ask() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")  # the page, as the test above says
    rows = dict(re.findall(r"^\| `(\w+)` \| [\w, -]+ \| (.+) \|$", text.partition("## Downstream tasks")[2], re.M))
    assert {*rows} >= {*task_names()}
    assert all(len(rows[task]) > 20 for task in task_names())
    assert all(f"`{model}`" in text for model in PRESETS)


def test_every_key_has_values_and_a_meaning() -> None:
    for section in SECTIONS:
        allowed, keys = AllowedValues(section.model), keys_of(section.model)
        vague = {key for key in keys if "any value" in allowed.text(key)} - FREE
        silent = {key for key in keys if section.path != "plugins" and not allowed.description(key)}
        assert not vague | silent, section.path


FREE = {"arguments", "space", "vary", "arms", "components", "levels", "values"}
"""Keys whose values are fields of candidates, of any type."""


VALUES = (None, True, 1, 1.5, 1e-4, "text", "two words", "1", "yes", "a: b", "", [1, "x"], {"a": {"b": []}}, "- x")


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_in_one_line_is_read_back(value: Any) -> None:
    def frozen(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: frozen(item) for key, item in value.items()}
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    document, mistakes = read_document("file", f"value: {flow(value)}")
    assert not mistakes
    assert plain(document) == {"value": frozen(value)}
