"""What is refused of an architecture of kind module, and which contract a wrong module breaks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.module_architecture import ModuleArchitecture
from search_space.objective import MaskedLanguageModel, ReplacedTokenDetection
from search_space.recipe import Recipe
from steeplechase.models.module_contracts import module_outcomes
from tests.factories.plugins import RECURRENT_MODULE, loaded, no_plugins_left


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    with no_plugins_left():
        yield


def problems(document: dict[str, Any]) -> list[str]:
    return [violation.message for violation in Architecture.model_validate(document).violations()]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"factory": "models.recurrent_example:nothing"},
            "recurrent_example.py has no `def nothing` or `class",
        ),
        (
            {"factory": "models.nowhere:build"},
            "models.nowhere:build: models.nowhere is not allowed; a factory is of",
        ),
        ({"factory": "models.recurrent_example:broken"}, "models.recurrent_example:broken: RuntimeError: no memory"),
        ({"factory": "models.recurrent_example:text"}, "returned str; a torch module is needed"),
        ({"arguments": {"words": 40}}, "TypeError: build() missing 1 required positional argument: 'width'"),
        ({"width": 32}, "32 is declared; the built module has 16"),
        ({"factory": "models.recurrent_example:leaves"}, "leaves: SystemExit: 3"),
        (
            {"factory": "models.recurrent_example:pair"},
            "pair: TypeError: the output is tuple; a tensor",
        ),
        ({"factory": "models.recurrent_example:fewer"}, "fewer: ValueError: the output has the shape [1, 0, 16]"),
        ({"factory": "models.recurrent_example:double"}, "the output is of torch.float64; torch.float32 is needed"),
        ({"factory": "models.recurrent_example:writes"}, "the module writes into its input tokens"),
        ({"factory": "models.recurrent_example:lazy"}, "parameters without a size: gru.weight"),
    ],
)
def test_a_module_that_is_not_what_is_declared_is_refused_in_one_line(
    recurrent: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert problems(recurrent) == []
    built = ModuleArchitecture.model_validate(recurrent)
    assert [each for each in module_outcomes(built, "right") if each.problem] == []
    (found,) = problems({**recurrent, **changes})
    assert message in found
    assert "\n" not in found


def test_a_module_that_reads_one_token_and_no_sequence_is_refused(recurrent: dict[str, Any]) -> None:
    architecture = ModuleArchitecture.model_validate({**recurrent, "factory": "models.recurrent_example:eight"})

    def faults(length: int) -> list[str]:
        recipe = Recipe(sequence_length=length)
        candidate = Candidate(architecture=architecture, objective=MaskedLanguageModel(), recipe=recipe)
        return [each.message for each in candidate.violations()]

    assert faults(8) == []
    reason = "models.recurrent_example:eight: IndexError: 16 tokens, 8 positions"
    (fault,) = faults(16)
    assert re.fullmatch(
        re.escape(f"with recipe.sequence_length 16: {reason} (models/recurrent_example.py:") + r"\d+\)", fault
    )


@pytest.mark.parametrize(
    ("right", "wrong", "contract"),
    [
        ("if padding_mask is not None:", "if False:", "the content of padding changes no other position"),
        ("self.words(tokens)", "self.words(tokens).detach()", "gradients reach every parameter"),
        ("both = len(", "torch.seed()\n        both = len(", "initial values are a function of the seed"),
        ("return self.gru(x)[0]", "return x.new_zeros(1, 2, 3)", "the built module is what is declared"),
        ("def build(words, width,", "def build(words, width, rate=0.1,", "every argument reaches something"),
        ("return self.gru(x)[0]", "return self.gru(x)[0] * float('nan')", "hidden states follow from the tokens"),
        ("return self.gru(x)[0]", "return self.gru(x)[0] * 0", "hidden states follow from the tokens"),
        ("return self.gru(x)[0]", "return self.gru(x)[0] + torch.rand(1)", "hidden states follow from the tokens"),
    ],
)
def test_a_wrong_module_breaks_the_contract_that_is_about_it(
    tmp_path: Path, right: str, wrong: str, contract: str
) -> None:
    (tmp_path / "models").mkdir()
    assert right in RECURRENT_MODULE
    (tmp_path / "models" / "recurrent_wrong.py").write_text(RECURRENT_MODULE.replace(right, wrong), encoding="utf-8")
    with loaded(tmp_path):
        sizes: dict[str, Any] = {"vocabulary_size": 40, "positions": 32, "width": 16}
        arguments = {"words": 40, "width": 16, "directions": ("forward", "backward")}
        built = ModuleArchitecture(factory="models.recurrent_wrong:build", arguments=arguments, **sizes)
        broken = [each.contract for each in module_outcomes(built, "wrong") if each.problem]
    assert contract in broken


def test_fields_of_the_encoder_and_unknown_keys_are_refused(recurrent: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="heads: not of kind module; its factory takes arguments"):
        Architecture.model_validate({**recurrent, "heads": 2})
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Architecture.model_validate({**recurrent, "hads": 2})
    with pytest.raises(ValidationError, match="is not allowed; write it as in"):
        Architecture.model_validate({**recurrent, "factory": "build"})


def test_objectives_and_recipes_that_need_the_encoder_are_refused(recurrent: dict[str, Any]) -> None:
    architecture = Architecture.model_validate(recurrent)
    recipe = Recipe(sequence_length=16).model_copy(update={"activation_checkpointing": "blocks"})
    candidate = Candidate(architecture=architecture, objective=ReplacedTokenDetection(), recipe=recipe)
    assert {violation.path for violation in candidate.violations()} >= {
        ("objective",),
        ("recipe", "activation_checkpointing"),
    }
