"""Exchange with transformers: names and shapes of weights, and round trips of config.json."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from search_space.architecture import Architecture
from search_space.convolution import NoConvolution, SpanDynamic
from search_space.normalisation import PostNorm, PreNorm
from search_space.position import LearnedPositions, RelativePositions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.encoder import Encoder
from steeplechase.models.huggingface import config
from steeplechase.models.huggingface.families import FAMILIES, nearest
from steeplechase.models.huggingface.weight_names import (
    encoder_pairs,
    from_transformers,
    head_pairs,
    to_transformers,
    under,
)
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import architectures, stir

transformers: Any = pytest.importorskip("transformers", reason="the reference models are in the development extra")


IN_OLDER_FILES = ("position_embedding_type", "is_decoder", "add_cross_attention")
"""Keys that transformers 5 no longer writes for every family; positions are absolute in it."""


@st.composite
def expressible(draw: st.DrawFn) -> Architecture:
    """Draw an architecture with an equivalent in transformers."""
    drawn = draw(architectures()).model_copy(update={"supersenses": 0})
    if draw(st.booleans()):
        return draw(of_later_families(drawn))
    if isinstance(drawn.convolution, SpanDynamic):
        convolution = drawn.convolution.model_copy(update={"value": "own"})
        heads = 2 * drawn.heads
        sizes = {"heads": heads, "width": 2 * drawn.width, "bottleneck_ratio": 2, "convolution": convolution}
        return drawn.model_copy(update=sizes)
    changes = {"convolution": NoConvolution(), "bottleneck_ratio": 1, "feed_forward_groups": 1}
    return drawn.model_copy(update=changes)


@st.composite
def of_later_families(draw: st.DrawFn, drawn: Architecture) -> Architecture:
    """Draw an ALBERT, a RoBERTa, a RoBERTa with pre-norm, a GPT or an XLNet."""
    kinds = ["albert", "post_norm", "pre_norm", "gpt", "xlnet"]
    kind, epsilon = draw(st.sampled_from(kinds)), draw(st.sampled_from([1e-12, 1e-5]))
    norm = (
        PreNorm(epsilon=epsilon)
        if kind == "pre_norm"
        else PostNorm(epsilon=epsilon, embedding=kind not in ("gpt", "xlnet"))
    )
    changes: dict[str, Any] = {
        "convolution": NoConvolution(),
        "bottleneck_ratio": 1,
        "feed_forward_groups": 1,
        "normalisation": norm,
        "feed_forward_activation": draw(st.sampled_from(["gelu", "gelu_tanh", "relu", "swish"][kind == "gpt" :])),
    }
    if kind == "albert":
        changes |= {"sharing": "all", "embedding_width": drawn.width + 1}
    elif kind == "gpt":
        sizes = {"embedding_width": drawn.width, "feed_forward_width": 4 * drawn.width, "segments": 0}
        changes |= {"visibility": "left_to_right", **sizes}
    elif kind == "xlnet":
        position = RelativePositions(segment_encodings=True, clamp=draw(st.sampled_from([None, 7])))
        changes |= {"visibility": "permutation", "position": position, "memory": draw(st.sampled_from([0, 5]))}
        even = 2 * drawn.width  # pairs of a sine and a cosine
        changes |= {"width": even, "embedding_width": even, "segments": 0, "attention_biases": False}
        changes |= {"positions": Architecture().positions}  # no table, and no key
    else:
        offset = draw(st.integers(1, 3))
        changes |= {"embedding_width": drawn.width, "position": LearnedPositions(offset=offset)}
    return drawn.model_copy(update=changes)


def written(architecture: Architecture, dropout: float = 0.1) -> dict[str, JsonValue]:
    return config.written(architecture, "", dropout, nearest(architecture).pad(architecture))


def built(document: dict[str, JsonValue]) -> nn.Module:
    with torch.device("meta"):
        model: nn.Module = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**document))
    return model


@given(expressible())
def test_both_models_have_the_same_weights_in_the_same_shapes(architecture: Architecture) -> None:
    assert list(config.obstacles(architecture)) == []
    theirs = built(written(architecture)).state_dict()
    with torch.device("meta"):
        ours = dict(Encoder(architecture, 0.1).named_parameters())
    twins = encoder_pairs(architecture)
    assert {twin.name for twin in twins} == ours.keys()
    converted = to_transformers(ours, twins)
    assert {name: value.shape for name, value in converted.items()} == {
        name: value.shape for name, value in theirs.items() if not name.startswith("pooler.")
    }


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
    document = written(architecture, dropout)
    assert config.read(document) == config.Reading(architecture, ())
    through: Any = transformers.AutoConfig.for_model(**document)
    assert config.read(through.to_dict()).architecture == architecture  # as saved by transformers


@given(architectures())
def test_an_architecture_is_written_unchanged_or_refused(architecture: Architecture) -> None:
    """An architecture that is not refused is fully described by its config.json."""
    if not list(config.obstacles(architecture)):
        assert config.read(written(architecture)).architecture == architecture


RELATIVE = {"kind": "relative", "segment_encodings": True}
XLNET = {"segments": 0, "attention_biases": False, "normalisation": {"kind": "post_norm", "embedding": False}}
REFUSED: dict[str, tuple[dict[str, Any], int | None, str]] = {
    "no offset": ({"normalisation": {"kind": "pre_norm"}}, None, "position.offset 0 has no equivalent"),
    "another [PAD]": ({"position": {"kind": "learned", "offset": 2}}, 0, "[PAD] is 0 in the vocabulary"),
    "sinusoids": (
        {"normalisation": {"kind": "pre_norm"}, "position": {"kind": "sinusoidal"}},
        None,
        "position sinusoidal has no equivalent",
    ),
    "no final norm": (
        {"normalisation": {"kind": "pre_norm", "final": False}, "position": {"kind": "learned", "offset": 1}},
        None,
        "normalisation.final False has no equivalent",
    ),
    "narrow embeddings": (
        {"embedding_width": 128, "position": {"kind": "learned", "offset": 1}},
        None,
        "embedding_width 128 has no equivalent",
    ),
    "no projection": ({"sharing": "all"}, None, "AlbertModel projects its embeddings"),
    "attention shared alone": ({"sharing": "attention"}, None, "sharing attention has no equivalent"),
    "another axis": ({"position": {"kind": "alibi"}}, None, "position alibi has no equivalent in transformers"),
    "a field of an axis": (
        {"normalisation": {"kind": "post_norm", "norm": "rms_norm"}},
        None,
        "normalisation.norm rms_norm has",
    ),
    "no segments": ({"segments": 0}, None, "segments 0 has no equivalent"),
    "left to right": (
        {"visibility": "left_to_right", "segments": 0, "feed_forward_activation": "gelu_tanh"},
        None,
        "normalisation post_norm, embedding True, has no equivalent",
    ),
    "a drawn order without segment encodings": (
        {"visibility": "permutation", "position": {"kind": "relative"}, **XLNET},
        None,
        "position.segment_encodings False has no equivalent in transformers: XLNetModel has them",
    ),
    "a drawn order with biases": (
        {"visibility": "permutation", "position": RELATIVE, **XLNET, "attention_biases": True},
        None,
        "attention_biases True has no equivalent in transformers: the maps of XLNetModel have none",
    ),
    "an odd width in a drawn order": (
        {"visibility": "permutation", "position": RELATIVE, **XLNET, "width": 15, "heads": 3, "embedding_width": 15},
        None,
        "width 15 has no equivalent in transformers: XLNetModel has pairs of a sine and a cosine",
    ),
    "sizes per layer": (
        {"depth": 2, "feed_forward_width": [8, 16]},
        None,
        "layers s f(width=8) s f(width=16) has no",
    ),
    "a window that looks back": (
        {"bottleneck_ratio": 2, "convolution": {"kind": "span_dynamic", "window": "look_back"}},
        None,
        "convolution.window look_back has no equivalent",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_architecture_that_no_family_has_is_refused_with_the_reason(name: str) -> None:
    changes, pad, reason = REFUSED[name]
    architecture = Architecture.model_validate({"embedding_width": 256, **changes})
    (found,) = config.obstacles(architecture, pad)
    assert reason in found


WRONG: dict[str, tuple[dict[str, JsonValue], str]] = {
    "groups": ({"model_type": "albert", "num_hidden_groups": 2}, "num_hidden_groups: 2 is not supported; allowed: 1"),
    "activation": (
        {"model_type": "roberta", "hidden_act": "tanh"},
        "hidden_act: 'tanh' is not supported; allowed: 'gelu'",
    ),
    "epsilon": ({"model_type": "roberta", "layer_norm_eps": 0}, "layer_norm_eps: 0 is not a number"),
    "padding": ({"model_type": "roberta", "pad_token_id": None}, "pad_token_id: None is not supported"),
    "a decoder": ({"model_type": "roberta", "is_decoder": True}, "is_decoder: True is not supported; allowed: False"),
    "a width": ({"model_type": "albert", "embedding_size": 0}, "embedding_size: 0 is not a whole number from 1"),
    "one direction": (
        {"model_type": "xlnet", "attn_type": "uni"},
        "attn_type: 'uni' is not supported; allowed: 'bi'",
    ),
    "two directions": ({"model_type": "xlnet", "bi_data": True}, "bi_data: True is not supported; allowed: False"),
    "width of heads": (
        {"model_type": "xlnet", "d_head": 32},
        "d_head: 32 is not supported; allowed: d_model 1024 / n_head 16",
    ),
    "a memory": ({"model_type": "xlnet", "mem_len": -1}, "mem_len: -1 is not a whole number from 0"),
    "no projection": ({"model_type": "albert", "embedding_size": 4096}, "AlbertModel projects its embeddings"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_config_of_a_later_family_is_refused_with_the_reason(name: str) -> None:
    document, reason = WRONG[name]
    read = config.read(document)
    assert read.architecture is None
    assert len(read.reasons) == 1
    assert reason in read.reasons[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_key_with_a_value_of_any_type_is_read_or_refused(family: str) -> None:
    values: tuple[JsonValue, ...] = (["a"], {"a": 1}, None, "x", 1.5, 10**12)
    for key in FAMILIES[family].completed({}):
        for value in values:
            read = config.read({"model_type": family, key: value})
            assert (read.architecture is None) == bool(read.reasons), (key, value)


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
    tied = {"generator_lm_head.weight", "lm_head.weight", "lm_loss.weight"}  # the token table
    names = {name for name, _ in theirs.named_parameters(remove_duplicate=False)} - tied
    assert {
        twin.transformers_name
        for twin in (*under(FAMILIES[family].prefix, encoder_pairs(read.architecture)), *head_pairs(objective))
    } == names
