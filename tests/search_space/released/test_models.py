"""Published models by name: they count to the last value, obey the rules, and are what their release says."""

import pytest
import torch

from foundation.schema import canonical
from models.encoder import Encoder
from search_space.candidate import Candidate
from search_space.released.models import PRESETS, parameters_as_published
from search_space.released.papers import published

POOLER = 768 * 768 + 768

WITH_POOLER = {
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "bert-base-cased": 108_310_272,
    "bert-large-cased": 333_579_264,
    "structbert-base": 109_482_240,
    "sensebert-base": 132_155_904,
    "wklm-base": 109_482_240,
    "spanbert-large": 333_579_264,
    "roberta-base": 124_645_632,
    "roberta-large": 355_359_744,
    "albert-base": 11_683_584,
    "albert-large": 17_683_968,
    "albert-xlarge": 58_724_864,
    "schubert-99m": 98_895_320,
    "schubert-88m": 88_484_742,
}
WITHOUT_POOLER = {
    "gpt": 116_534_784,
    "bert-small": 13_483_008,
    "electra-small": 13_483_008,
    "electra-base": 108_891_648,
    "electra-large": 334_092_288,
    "convbert-small": 13_143_768,
    "convbert-medium-small": 17_475_888,
    "convbert-base": 105_680_520,
}


@pytest.mark.parametrize(("name", "parameters"), {**WITH_POOLER, **WITHOUT_POOLER}.items())
def test_a_released_model_counts_as_published_under_the_publications_convention(name: str, parameters: int) -> None:
    preset, costs = PRESETS[name], published().models[name].costs
    assert parameters_as_published(preset, costs) == costs.published_parameters == parameters
    assert costs.pooler == (name in WITH_POOLER)
    width = preset.candidate.architecture.width
    assert preset.candidate.architecture.parameters == parameters - costs.pooler * (width * width + width)
    with torch.device("meta"):
        assert sum(value.numel() for value in Encoder(preset.candidate.architecture, 0.1).parameters()) == (
            preset.candidate.architecture.parameters
        )


def test_every_released_model_has_a_count_here() -> None:
    assert {**WITH_POOLER, **WITHOUT_POOLER}.keys() == PRESETS.keys() == published().models.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_what_was_not_found_of_a_released_model_is_in_its_notes(name: str) -> None:
    model, preset = published().models[name], PRESETS[name]
    assert preset.has_objective == (model.objective is not None)
    assert (preset.updates is None) <= bool(preset.notes)
    for field in ("peak_learning_rate", "batch_sequences", "sequence_length", "weight_decay"):
        missing = any("not found" in note and field.replace("_", " ") in note for note in preset.notes)
        assert missing == (field not in model.recipe), field


@pytest.mark.parametrize(
    ("name", "parameters", "judge_and_generator"),
    [
        ("bert-small", 13_483_008, None),
        ("bert-base", 109_482_240 - POOLER, None),  # Hugging Face's BertModel counts its pooler
        ("electra-small", 13_483_008, None),
        ("electra-base", 108_891_648, None),
        ("convbert-small", 13_143_768, 66_049 + 810_086),
        ("convbert-medium-small", 17_475_888, 148_225 + 915_078),
        ("convbert-base", 105_680_520, 591_361 + 9_564_178),
    ],
)
def test_a_published_model_counts_as_published(name: str, parameters: int, judge_and_generator: int | None) -> None:
    candidate = PRESETS[name].candidate
    assert candidate.architecture.parameters == parameters
    if judge_and_generator is not None:
        generator = candidate.objective.generator_of(candidate.architecture, candidate.architecture)
        assert candidate.objective.head_parameters(candidate.architecture, generator) == judge_and_generator


def test_electra_bases_generator_counts_as_published() -> None:
    candidate = PRESETS["electra-base"].candidate
    generator = candidate.objective.generator_of(candidate.architecture, candidate.architecture)
    assert generator is not None
    assert generator.parameters == 33_511_168


@pytest.mark.parametrize("name", PRESETS)
def test_a_published_model_is_a_candidate_like_any_other(name: str) -> None:
    candidate = PRESETS[name].candidate
    assert list(candidate.violations()) == []
    assert Candidate.model_validate(canonical(candidate)) == candidate


@pytest.mark.parametrize(
    ("name", "rate", "sequences", "length", "updates"),
    [
        ("bert-base", 1e-4, 256, 512, 1_000_000),
        ("electra-small", 5e-4, 128, 128, 1_000_000),
        ("electra-base", 2e-4, 256, 512, 766_000),
        ("convbert-small", 3e-4, 128, 128, 1_000_000),
        ("convbert-medium-small", 5e-4, 128, 128, 1_000_000),
        ("convbert-base", 2e-4, 256, 128, 1_000_000),
    ],
)
def test_a_published_model_is_trained_as_released(
    name: str, rate: float, sequences: int, length: int, updates: int
) -> None:
    preset = PRESETS[name]
    recipe = preset.candidate.recipe
    assert (recipe.peak_learning_rate, recipe.batch_sequences, recipe.sequence_length) == (rate, sequences, length)
    assert (preset.updates, recipe.steps(preset.tokens)) == (updates, updates)
    assert recipe.steps(recipe.schedule.warmup_tokens) == 10_000
