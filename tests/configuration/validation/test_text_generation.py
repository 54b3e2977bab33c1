"""What arms need to write texts: a decoder or masks, absolute positions, and room for a source and its target."""

import json
from typing import Any

import pytest

from configuration.experiment import Experiment
from configuration.validation.fine_tuning import fine_tuning_violations
from tests.factories.reports import document

SIZES = {"depth": 2, "width": 32, "embedding_width": 32, "heads": 4, "vocabulary_size": 500}


def violations(architecture: dict[str, Any], objective: str, **tuning: Any) -> list[str]:
    made = document()
    made["baseline"] = {"architecture": {**SIZES, **architecture}, "objective": {"kind": objective}}
    made["baseline"]["recipe"] = {"sequence_length": 32}
    made["design"] = {"kind": "list", "arms": {"deep": {"depth": 3}}}
    made["fine_tuning"] = {"tasks": ["multi30k_de_en"], "data": "data", "sequence_length": 40, **tuning}
    experiment = Experiment.model_validate_json(json.dumps(made))
    return [each.message for each in fine_tuning_violations(experiment)]


def test_a_stack_that_masks_in_several_visibilities_can_write() -> None:
    assert violations({"positions": 80}, "mixed_visibility") == []


def test_other_stacks_cannot() -> None:
    (message,) = violations({"positions": 80}, "masked_language_model")
    needed = "needs architectures of kind encoder_decoder, or objective mixed_visibility"
    assert message == f"multi30k_de_en {needed}; these arms have neither: baseline, deep"


@pytest.mark.parametrize(("positions", "generation"), [(79, {}), (99, {"longest_output": 60})])
def test_a_source_and_its_target_share_the_positions(positions: int, generation: dict[str, int]) -> None:
    messages = violations({"positions": positions}, "mixed_visibility", generation=generation)
    assert len(messages) == 2, "one for each arm"
    assert f"{positions + 1} is longer than the {positions} positions of the architecture" in messages[0]


def test_positions_in_attention_are_refused() -> None:
    messages = violations({"position": {"kind": "relative"}}, "mixed_visibility")
    assert "baseline cannot write targets with relative positions; use learned or sinusoidal ones" in messages[0]
