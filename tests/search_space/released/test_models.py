"""Published models by name: they count to the last value, obey the rules, and are what their release says."""

import pytest
import torch

from foundation.schema import canonical, canonical_text
from models.build_encoder import build_encoder
from search_space.candidate import Candidate
from search_space.objective import Denoising
from search_space.overrides import apply, difference
from search_space.released.models import PRESETS, parameters_as_published, preset_of
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
    "bertram-base": 109_482_240,
    "spanbert-large": 333_579_264,
    "roberta-base": 124_645_632,
    "roberta-large": 355_359_744,
    "albert-base": 11_683_584,
    "albert-large": 17_683_968,
    "albert-xlarge": 58_724_864,
    "schubert-99m": 98_895_320,
    "schubert-88m": 88_484_742,
    "bert-no-nsp": 109_482_240,
    "bert-ltr": 109_482_240,
    "bart-multitask-masked-lm": 109_482_240,
}
WITHOUT_POOLER = {
    "gpt": 116_534_784,
    "transformer-xl-base": 151_119_838,
    "evolved-base": 64_064_512,
    "evolved-big": 221_714_432,
    "evolved-deep": 218_069_120,
    "xlnet-base": 116_718_336,
    "xlnet-large": 360_268_800,
    "mass": 238_850_048,
    "unilm": 332_533_760,
    "bart-base": 139_420_416,
    "bart-large": 406_291_456,
    "transformer-base": 63_082_496,
    "preln-iwslt": 36_665_344,
    "sandwich-baseline": 475_709_440,
    "transformer-big": 214_245_376,
    "bert-small": 13_483_008,
    "electra-small": 13_483_008,
    "electra-base": 108_891_648,
    "electra-large": 334_092_288,
    "convbert-small": 13_143_768,
    "convbert-medium-small": 17_475_888,
    "convbert-base": 105_680_520,
    "convbert-small-no-conv": 11_905_536,
    "convbert-small-depthwise": 12_721_152,
    "convbert-small-dynamic": 12_721_368,
    "convbert-small-paper-eq6": 12_749_016,
    "electra-all-tokens-mlm": 108_891_648,
    "electra-replace-mlm": 108_891_648,
    "electra-15pct": 108_891_648,
    "bart-token-mask": 139_420_416,
    "bart-token-delete": 139_420_416,
    "bart-rotate": 139_420_416,
    "mass-discrete": 238_850_048,
    "mass-feed": 238_850_048,
    "gpt-lstm": 55_747_328,
    "transformer-xl-no-memory": 151_119_838,
    "postln-iwslt-no-warmup": 36_663_296,
    "sandwich16_6": 475_709_440,
}


@pytest.mark.parametrize(("name", "parameters"), {**WITH_POOLER, **WITHOUT_POOLER}.items())
def test_a_released_model_counts_as_published_under_the_publications_convention(name: str, parameters: int) -> None:
    preset, costs = PRESETS[name], published().costs_of_model(name)
    assert parameters_as_published(preset, costs) == costs.published_parameters == parameters
    assert costs.pooler == (name in WITH_POOLER)
    width = preset.candidate.architecture.width
    added = (
        preset.candidate.objective.head_parameters(preset.candidate.architecture, None) if costs.output_layer else 0
    )
    assert preset.candidate.architecture.parameters == parameters - added - costs.pooler * (width * width + width)
    with torch.device("meta"):
        assert sum(value.numel() for value in build_encoder(preset.candidate.architecture, 0.1).parameters()) == (
            preset.candidate.architecture.parameters
        )


def test_every_released_model_has_a_count_here() -> None:
    assert {**WITH_POOLER, **WITHOUT_POOLER}.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", published().variants)
def test_a_variant_is_its_model_with_what_it_changes_and_is_told_so(name: str) -> None:
    variant = published().variants[name]
    preset, released = PRESETS[name], PRESETS[variant.of]
    assert preset.notes[0] == f"a variant of {variant.of}"
    assert preset.candidate.recipe == released.candidate.recipe
    changed = difference(released.candidate, preset.candidate)
    assert {path.partition(".")[0] for path in variant.changes} <= {path.partition(".")[0] for path in changed}


@pytest.mark.parametrize("name", published().models)
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
    preset = PRESETS[name]
    candidate = preset.candidate
    broken = list(candidate.violations())  # a model without pretraining has the default objective
    assert [each for each in broken if preset.has_objective or each.path != ("objective",)] == []
    assert Candidate.model_validate_json(canonical_text(canonical(candidate))) == candidate


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


def test_the_lstm_of_gpts_row_counts_as_known() -> None:
    """23,085,056 in the recurrent layer of 2048 units at 768 inputs; what joins it to the table is this project's."""
    row = published().tables["gpt_table5"].rows["LSTM w/ aux LM"]
    preset = preset_of(row)
    assert preset is not None
    with torch.device("meta"):
        encoder = build_encoder(preset.candidate.architecture, 0.1)
    layer = encoder.get_submodule("blocks.0.recurrent.layer")
    assert sum(value.numel() for value in layer.parameters()) == 23_085_056
    assert sum(value.numel() for value in encoder.parameters()) == preset.candidate.architecture.parameters
    assert all(value.numel() == 0 or "position" not in name for name, value in encoder.named_parameters())


TABLE_3 = {
    "keys_16": ({"key_width": 16}, -7),
    "keys_32": ({"key_width": 32}, -5),
    "depth_2": ({"depth": 2, "decoder_depth": 2}, -29),
    "depth_4": ({"depth": 4, "decoder_depth": 4}, -15),
    "depth_8": ({"depth": 8, "decoder_depth": 8}, 15),
    "inner_1024": ({"feed_forward_width": 1024}, -12),
    "inner_4096": ({"feed_forward_width": 4096}, 25),
}
"""Rows of the Transformer's Table 3: their changes, and the difference of the printed millions of parameters."""


def transformer_base() -> Candidate:
    """Return the model with an objective that an encoder with a decoder has."""
    return PRESETS["transformer-base"].candidate.model_copy(update={"objective": Denoising()})


@pytest.mark.parametrize("row", TABLE_3)
def test_rows_of_the_transformers_table_3_differ_from_its_base_as_printed(row: str) -> None:
    """No single vocabulary gives the printed counts; their differences are rounded twice, to a million each."""
    base, (changes, printed) = transformer_base(), TABLE_3[row]
    difference = (apply(base, changes).architecture.parameters - base.architecture.parameters) / 1e6
    assert abs(difference - printed) < 0.65


@pytest.mark.parametrize("heads", [1, 4, 16, 32])
def test_the_number_of_heads_changes_no_count(heads: int) -> None:
    base = transformer_base()
    assert apply(base, {"heads": heads}).architecture.parameters == base.architecture.parameters


EVOLVED_ROWS = (
    *(
        ("evolved_widths", f"{model}, {width} wide")
        for model in ("Transformer", "Evolved Transformer")
        for width in (128, 432, 512, 768, 1024)
    ),
    ("evolved_sizes", "Evolved Transformer, En-De deep"),
)


@pytest.mark.parametrize(("table", "name"), EVOLVED_ROWS)
def test_the_evolved_transformers_tables_count_as_printed(table: str, name: str) -> None:
    """All eleven counts follow from one number that the paper does not print, the size of the vocabulary."""
    row = published().tables[table].rows[name]
    preset = preset_of(row)
    assert preset is not None
    architecture = preset.candidate.architecture
    assert f"{architecture.parameters / 1e6:.1f}M" == row.printed_parameters
    with torch.device("meta"):
        assert (
            sum(value.numel() for value in build_encoder(architecture, 0.1).parameters()) == architecture.parameters
        )


@pytest.mark.parametrize("size", ["base", "big"])
def test_a_size_of_the_evolved_transformer_is_a_width_of_it(size: str) -> None:
    tables = published().tables
    width = {"base": 512, "big": 1024}[size]
    sizes = tables["evolved_sizes"].rows[f"Evolved Transformer, En-De {size}"]
    assert (
        sizes.printed_parameters
        == tables["evolved_widths"].rows[f"Evolved Transformer, {width} wide"].printed_parameters
    )
