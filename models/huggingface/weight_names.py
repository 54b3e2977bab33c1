"""The same weights here and in transformers' ConvBERT, ELECTRA and BERT: their two names and their two layouts.

Source: transformers 5.23, modeling_convbert.py, modeling_electra.py, modeling_bert.py.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from search_space.architecture import Architecture

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Layout:
    """How the axes of a tensor lie; its values are the same on both sides."""

    to_theirs: Map
    to_ours: Map


SAME = Layout(lambda value: value, lambda value: value)
KERNEL_PER_CHANNEL = Layout(lambda value: value.T[:, None], lambda value: value[:, 0].T)
"""Ours [kernel channels], their Conv1d's [channels 1 kernel]."""
ONE_TAP = Layout(lambda value: value[..., None], lambda value: value[..., 0])
"""Ours [outputs inputs] or [outputs], theirs with an axis of one at the end."""


@dataclass(frozen=True)
class WeightPair:
    """One parameter under its two names."""

    ours: str
    theirs: str
    layout: Layout = SAME


Modules = tuple[tuple[str, str], ...]

TABLES: Modules = (
    ("embeddings.tokens", "embeddings.word_embeddings"),
    ("embeddings.positions", "embeddings.position_embeddings"),
    ("embeddings.segments", "embeddings.token_type_embeddings"),
)
NORM: Modules = (("embeddings.norm", "embeddings.LayerNorm"),)
PROJECTION: Modules = (("projection", "embeddings_project"),)
BLOCK: Modules = (
    ("attention.query", "attention.self.query"),
    ("attention.key", "attention.self.key"),
    ("attention.value", "attention.self.value"),
    ("attention.output", "attention.output.dense"),
    ("attention_norm", "attention.output.LayerNorm"),
    ("feed_forward.up", "intermediate.dense"),
    ("feed_forward.down", "output.dense"),
    ("feed_forward_norm", "output.LayerNorm"),
)
BRANCH: Modules = (
    ("attention.branch.value", "attention.self.conv_out_layer"),
    ("attention.branch.generate", "attention.self.conv_kernel_layer"),
)
OUR_SPAN_KEY, THEIR_SPAN_KEY = "attention.branch.span_key", "attention.self.key_conv_attn_layer"
SPAN_KEY = (
    WeightPair(f"{OUR_SPAN_KEY}.depthwise.weight", f"{THEIR_SPAN_KEY}.depthwise.weight", KERNEL_PER_CHANNEL),
    WeightPair(f"{OUR_SPAN_KEY}.pointwise.weight", f"{THEIR_SPAN_KEY}.pointwise.weight", ONE_TAP),
    WeightPair(f"{OUR_SPAN_KEY}.pointwise.bias", f"{THEIR_SPAN_KEY}.bias", ONE_TAP),
)
VOCABULARY_HEAD: Modules = (
    ("head.transform", "generator_predictions.dense"),
    ("head.norm", "generator_predictions.LayerNorm"),
)
JUDGE: Modules = (
    ("judge.transform", "discriminator_predictions.dense"),
    ("judge.verdict", "discriminator_predictions.dense_prediction"),
)


def encoder_pairs(architecture: Architecture) -> tuple[WeightPair, ...]:
    """Return every parameter of the architecture's encoder, as long as `config.obstacles` finds none."""
    projection = () if architecture.embedding_width == architecture.width else PROJECTION
    block = _whole(BLOCK)
    if architecture.convolution.branch_width_ratio:
        block = (*block, *_whole(BRANCH), *SPAN_KEY)
    blocks = (
        WeightPair(f"blocks.{number}.{pair.ours}", f"encoder.layer.{number}.{pair.theirs}", pair.layout)
        for number in range(architecture.depth)
        for pair in block
    )
    tables = (WeightPair(f"{ours}.weight", f"{theirs}.weight") for ours, theirs in TABLES)
    return (*tables, *_whole(NORM), *_whole(projection), *blocks)


def head_pairs(objective: str) -> tuple[WeightPair, ...]:
    """Return the head that an objective adds to the encoder.

    The map to the vocabulary is the embedding table itself on both sides, so that its bias alone is named.
    """
    if objective == "masked_language_model":
        return (*_whole(VOCABULARY_HEAD), WeightPair("head.words.bias", "generator_lm_head.bias"))
    return _whole(JUDGE)


def under(prefix: str, pairs: Iterable[WeightPair]) -> tuple[WeightPair, ...]:
    """Return the pairs with their names inside a larger model of theirs."""
    return tuple(replace(pair, theirs=f"{prefix}.{pair.theirs}") for pair in pairs)


def to_theirs(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights under their names and in their layout."""
    return {pair.theirs: pair.layout.to_theirs(weights[pair.ours]).contiguous() for pair in pairs}


def to_ours(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights under our names and in our layout."""
    return {pair.ours: pair.layout.to_ours(weights[pair.theirs]).contiguous() for pair in pairs}


def _whole(modules: Modules) -> tuple[WeightPair, ...]:
    """Return the weight and the bias of each module."""
    return tuple(
        WeightPair(f"{ours}.{part}", f"{theirs}.{part}") for ours, theirs in modules for part in ("weight", "bias")
    )
