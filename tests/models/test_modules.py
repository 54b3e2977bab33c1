"""An architecture of kind module: counted as built, trained and keyed like the encoder; what is refused of one."""

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
from search_space.overrides import apply, difference
from search_space.recipe import Recipe
from steeplechase.configuration.arms import ArmTable, Rules
from steeplechase.configuration.designs import Factorial
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.plugins import sources_of
from steeplechase.foundation.canonical import canonical, fingerprint
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.module_contracts import module_outcomes
from steeplechase.models.module_encoder import ModuleEncoder
from steeplechase.tasks.objectives import build_model
from tests.factories.paths import ROOT
from tests.factories.plugins import RECURRENT_MODULE, loaded, no_plugins_left

EXAMPLE = ROOT / "examples" / "transformers_bert"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    with no_plugins_left():
        yield


def bert(**arguments: Any) -> ModuleArchitecture:
    sizes = {"vocabulary_size": 40, "positions": 32, "width": 24, "depth": 2, "heads": 4, "feed_forward_width": 32}
    sizes |= arguments
    return ModuleArchitecture(
        factory="models.transformers_bert:build",
        arguments=sizes,
        vocabulary_size=sizes["vocabulary_size"],
        positions=sizes["positions"],
        width=sizes["width"],
    )


def test_all_sizes_that_the_built_module_does_not_have_are_told_at_once() -> None:
    pytest.importorskip("transformers")
    with loaded(EXAMPLE):
        declared = bert().model_copy(update={"width": 32, "embedding_width": 32, "vocabulary_size": 50})
        told = {violation.path: violation.message for violation in declared.violations()}
    assert told == {
        ("width",): "32 is declared; the built module has 24",
        ("embedding_width",): "32 is declared; the built module has 24",
        ("vocabulary_size",): "50 is declared; the built module has 40 token embeddings",
    }


def test_the_kind_encoder_is_never_written_and_changes_no_key() -> None:
    plain, named = Architecture(depth=2), Architecture.model_validate({"kind": "encoder", "depth": 2})
    assert named == plain
    assert canonical(named) == {"depth": 2}
    allowed = "is not a kind of architecture; allowed: encoder, encoder_decoder, module"
    for unknown in ("encodr", 1, ["encoder"], {"encoder": 1}):
        with pytest.raises(ValidationError, match=re.escape(f"{unknown!r} {allowed}")):
            Architecture.model_validate({"kind": unknown})


def test_bert_of_transformers_is_counted_as_the_encoder_that_equals_it() -> None:
    """Its parameters and FLOPs are those of this repository's encoder in closed form: two independent counts."""
    with loaded(EXAMPLE):
        built = bert()
        sizes = {"depth": 2, "width": 24, "embedding_width": 24, "heads": 4, "feed_forward_width": 32}
        own = Architecture(**sizes, vocabulary_size=40, positions=32)
        assert list(built.violations()) == []
        assert built.parameters == own.parameters
        for length in (8, 20):
            assert built.forward_flops(length) == own.forward_flops(length)


def test_a_module_survives_json_and_dotted_changes() -> None:
    with loaded(EXAMPLE):
        recipe = Recipe(sequence_length=16)
        candidate = Candidate(architecture=bert(), objective=MaskedLanguageModel(), recipe=recipe)
        assert Candidate.model_validate_json(candidate.model_dump_json()) == candidate
        deeper = apply(candidate, {"architecture.arguments.depth": 3})
        assert isinstance(deeper.architecture, ModuleArchitecture)
        assert deeper.architecture.arguments["depth"] == 3
        assert deeper.architecture.parameters > candidate.architecture.parameters
        assert difference(candidate, deeper) == {"arguments.depth": 3}
        assert apply(candidate, difference(candidate, deeper)) == deeper
        assert fingerprint(canonical(deeper)) != fingerprint(canonical(candidate))
        replaced = apply(
            Candidate(objective=MaskedLanguageModel(), recipe=candidate.recipe),
            {
                "architecture": candidate.architecture.model_dump(),
            },
        )
        assert replaced.architecture == candidate.architecture


def test_the_factorys_source_enters_the_key(recurrent: dict[str, Any]) -> None:
    architecture = Architecture.model_validate(recurrent)
    assert [*sources_of(architecture)] == ["models.recurrent_example"]
    outside = ModuleArchitecture(factory="json.decoder:build")
    assert [*sources_of(outside)] == ["json.decoder"]


def test_a_module_without_token_embeddings_has_an_output_table_that_is_counted(recurrent: dict[str, Any]) -> None:
    candidate = Candidate(architecture=Architecture.model_validate(recurrent), objective=MaskedLanguageModel())
    model = build_model(candidate, None, 1)
    assert isinstance(model.encoder, ModuleEncoder)
    assert model.encoder.output_table is not None
    assert sum(each.numel() for each in model.encoder.parameters()) == candidate.architecture.parameters
    head = candidate.objective.head_parameters(candidate.architecture, None)
    assert sum(each.numel() for each in model.parameters()) == candidate.architecture.parameters + head
    named = bert()
    with loaded(EXAMPLE):
        tied = build_encoder(named, 0.0)
        assert isinstance(tied, ModuleEncoder)
        assert tied.output_table is None
        assert tied.embeddings.tokens.weight.shape == (40, 24)


def test_an_experiment_refuses_measures_of_blocks(tmp_path: Path) -> None:
    text = (EXAMPLE / "experiment.yaml").read_text(encoding="utf-8")
    text = text.replace("plugins: [.]", f"plugins: [{EXAMPLE}]")
    file = tmp_path / "experiment.yaml"
    file.write_text(text + "\nmeasure: { attention_diagonal: {} }\n", encoding="utf-8")
    with pytest.raises(
        ConfigurationError, match="needs the encoder's blocks; the architecture of baseline is of kind"
    ):
        load_experiment(file, "smoke")


def test_every_argument_is_an_axis_with_levels_even_where_the_baseline_does_not_give_it(
    recurrent: dict[str, Any],
) -> None:
    candidate = Candidate(
        architecture=Architecture.model_validate(recurrent),
        objective=MaskedLanguageModel(),
        recipe=Recipe(sequence_length=16),
    )
    table = ArmTable(candidate, Rules((), False))
    vary = {"architecture.arguments.layers": (1, 2), "architecture.arguments.width": (16,)}
    table.add_design(Factorial(vary=vary), ("design",))
    assert not table.violations
    (deeper,) = (arm for arm in table.arms if arm.levels.get("architecture.arguments.layers") == 2)
    assert isinstance(deeper.candidate.architecture, ModuleArchitecture)
    assert deeper.candidate.architecture.arguments["layers"] == 2
    assert deeper.candidate.architecture.parameters > candidate.architecture.parameters


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
