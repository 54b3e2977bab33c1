"""Names and layouts of the weights in this project and in transformers' ConvBERT, ELECTRA and BERT.

Source: transformers 5.23, modeling_convbert.py, modeling_electra.py, modeling_bert.py.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from search_space.architecture import Architecture

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Layout:
    """Order of a tensor's axes in this project and in transformers; the values are equal."""

    to_transformers: Map
    from_transformers: Map


SAME = Layout(lambda value: value, lambda value: value)
KERNEL_PER_CHANNEL = Layout(lambda value: value.T[:, None], lambda value: value[:, 0].T)
"""[kernel channels] here, [channels 1 kernel] in the Conv1d of transformers."""
ONE_TAP = Layout(lambda value: value[..., None], lambda value: value[..., 0])
"""[outputs inputs] or [outputs] here, with a trailing axis of size 1 in transformers."""


@dataclass(frozen=True)
class WeightPair:
    """One parameter: its name in this project and in transformers."""

    name: str
    transformers_name: str
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
SPAN_KEY_NAME, TRANSFORMERS_SPAN_KEY = "attention.branch.span_key", "attention.self.key_conv_attn_layer"
SPAN_KEY = (
    WeightPair(f"{SPAN_KEY_NAME}.depthwise.weight", f"{TRANSFORMERS_SPAN_KEY}.depthwise.weight", KERNEL_PER_CHANNEL),
    WeightPair(f"{SPAN_KEY_NAME}.pointwise.weight", f"{TRANSFORMERS_SPAN_KEY}.pointwise.weight", ONE_TAP),
    WeightPair(f"{SPAN_KEY_NAME}.pointwise.bias", f"{TRANSFORMERS_SPAN_KEY}.bias", ONE_TAP),
)
VOCABULARY_HEAD: Modules = (
    ("head.transform", "generator_predictions.dense"),
    ("head.norm", "generator_predictions.LayerNorm"),
)
DISCRIMINATOR_HEAD: Modules = (
    ("judge.transform", "discriminator_predictions.dense"),
    ("judge.verdict", "discriminator_predictions.dense_prediction"),
)


def encoder_pairs(architecture: Architecture) -> tuple[WeightPair, ...]:
    """Return every parameter of the architecture's encoder, provided that `config.obstacles` yields none."""
    projection = () if architecture.embedding_width == architecture.width else PROJECTION
    block = _weights_and_biases(BLOCK)
    if architecture.convolution.branch_width_ratio:
        block = (*block, *_weights_and_biases(BRANCH), *SPAN_KEY)
    blocks = (
        WeightPair(f"blocks.{number}.{pair.name}", f"encoder.layer.{number}.{pair.transformers_name}", pair.layout)
        for number in range(architecture.depth)
        for pair in block
    )
    tables = (WeightPair(f"{name}.weight", f"{transformers_name}.weight") for name, transformers_name in TABLES)
    return (*tables, *_weights_and_biases(NORM), *_weights_and_biases(projection), *blocks)


def head_pairs(objective: str) -> tuple[WeightPair, ...]:
    """Return the head that an objective adds to the encoder; transformers has heads for two kinds of objective.

    The output table is tied to the embedding table in both, so only its bias is listed.
    """
    if objective == "masked_language_model":
        return (*_weights_and_biases(VOCABULARY_HEAD), WeightPair("head.words.bias", "generator_lm_head.bias"))
    assert objective == "replaced_token_detection", objective
    return _weights_and_biases(DISCRIMINATOR_HEAD)


def under(prefix: str, pairs: Iterable[WeightPair]) -> tuple[WeightPair, ...]:
    """Return the pairs with a prefix on the names in transformers."""
    return tuple(replace(pair, transformers_name=f"{prefix}.{pair.transformers_name}") for pair in pairs)


def to_transformers(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights with the names and layouts of transformers."""
    return {pair.transformers_name: pair.layout.to_transformers(weights[pair.name]).contiguous() for pair in pairs}


def from_transformers(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights with the names and layouts of this project."""
    return {pair.name: pair.layout.from_transformers(weights[pair.transformers_name]).contiguous() for pair in pairs}


def _weights_and_biases(modules: Modules) -> tuple[WeightPair, ...]:
    """Return the weight and the bias of each module."""
    return tuple(
        WeightPair(f"{name}.{part}", f"{transformers_name}.{part}")
        for name, transformers_name in modules
        for part in ("weight", "bias")
    )
