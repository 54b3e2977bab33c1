"""Published models by name: they count to the last value, obey the rules, and are what their release says."""

import pytest

from foundation.schema import canonical
from search_space.candidate import Candidate
from search_space.released.models import PRESETS

POOLER = 768 * 768 + 768


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
