"""Exchange with transformers: names and shapes of weights, and round trips of config.json."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from foundation.schema import JsonValue
from models.encoder import Encoder
from models.huggingface import config
from models.huggingface.families import FAMILIES
from models.huggingface.weight_names import encoder_pairs, from_transformers, head_pairs, to_transformers, under
from models.initialisation import initialise
from search_space.architecture import Architecture
from search_space.convolution import NoConvolution, SpanDynamic
from tests.factories.small_experiments import architectures, stir

transformers: Any = pytest.importorskip("transformers", reason="the reference models are in the development extra")


IN_OLDER_FILES = ("position_embedding_type", "is_decoder", "add_cross_attention")
"""Keys that transformers 5 no longer writes for every family; positions are absolute in it."""


@st.composite
def expressible(draw: st.DrawFn) -> Architecture:
    """Draw an architecture with an equivalent in transformers."""
    drawn = draw(architectures())
    if isinstance(drawn.convolution, SpanDynamic):
        convolution = drawn.convolution.model_copy(update={"value": "own"})
        heads = 2 * drawn.heads
        sizes = {"heads": heads, "width": 2 * drawn.width, "bottleneck_ratio": 2, "convolution": convolution}
        return drawn.model_copy(update=sizes)
    changes = {"convolution": NoConvolution(), "bottleneck_ratio": 1, "feed_forward_groups": 1}
    return drawn.model_copy(update=changes)


def built(document: dict[str, JsonValue]) -> nn.Module:
    with torch.device("meta"):
        model: nn.Module = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**document))
    return model


@given(expressible())
def test_both_models_have_the_same_weights_in_the_same_shapes(architecture: Architecture) -> None:
    assert list(config.obstacles(architecture)) == []
    theirs = built(config.written(architecture, "", 0.1, 0)).state_dict()
    with torch.device("meta"):
        ours = dict(Encoder(architecture, 0.1).named_parameters())
    twins = encoder_pairs(architecture)
    assert {twin.name for twin in twins} == ours.keys()
    converted = to_transformers(ours, twins)
    assert {name: value.shape for name, value in converted.items()} == {n: v.shape for n, v in theirs.items()}


@given(expressible())
def test_a_round_trip_of_weights_is_bitwise_equal(architecture: Architecture) -> None:
    encoder = Encoder(architecture, 0.1)
    initialise(encoder, 1)
    stir(encoder)
    ours = {name: value.detach() for name, value in encoder.named_parameters()}
    twins = encoder_pairs(architecture)
    back = from_transformers(to_transformers(ours, twins), twins)
    assert back.keys() == ours.keys()
    assert all(torch.equal(back[name], value) and back[name].is_contiguous() for name, value in ours.items())


@given(expressible(), st.sampled_from([0.0, 0.1]))
def test_a_config_round_trips_the_architecture(architecture: Architecture, dropout: float) -> None:
    document = config.written(architecture, "", dropout, 0)
    assert config.read(document) == config.Reading(architecture, ())
    through: Any = transformers.AutoConfig.for_model(**document)
    assert config.read(through.to_dict()).architecture == architecture  # as saved by transformers


@given(architectures())
def test_an_architecture_is_written_unchanged_or_refused(architecture: Architecture) -> None:
    """An architecture that is not refused is fully described by its config.json."""
    if not list(config.obstacles(architecture)):
        assert config.read(config.written(architecture, "", 0.1, 0)).architecture == architecture


@pytest.mark.parametrize("family", FAMILIES)
def test_an_omitted_key_has_the_default_of_transformers(family: str) -> None:
    said: Any = transformers.AutoConfig.for_model(family).to_dict()
    for key, value in FAMILIES[family].defaults.items():
        if key in said or key not in IN_OLDER_FILES:
            assert said[key] == value, key
    assert config.read({"model_type": family}) == config.read(said)


@pytest.mark.parametrize(
    ("objective", "family", "kind"),
    [(objective, name, kind) for name, family in FAMILIES.items() for objective, kind in family.classes.items()],
)
def test_a_class_with_a_head_has_only_the_encoder_and_the_head(objective: str, family: str, kind: str) -> None:
    sizes: dict[str, JsonValue] = {"model_type": family, "hidden_size": 32, "num_hidden_layers": 1, "vocab_size": 40}
    read = config.read({**sizes, "num_attention_heads": 4, "intermediate_size": 64, "embedding_size": 16})
    assert read.architecture is not None
    document = config.written(read.architecture, kind, 0.1, 0)
    with torch.device("meta"):
        theirs = getattr(transformers, kind)(transformers.AutoConfig.for_model(**document))
    tied = {"generator_lm_head.weight"}  # the token table
    names = {name for name, _ in theirs.named_parameters(remove_duplicate=False)} - tied
    assert {
        twin.transformers_name for twin in (*under(family, encoder_pairs(read.architecture)), *head_pairs(objective))
    } == names
