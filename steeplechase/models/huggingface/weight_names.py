"""Names and layouts of the weights in this project and in transformers' models.

Source: transformers 5.23, the modelling file of each family in `steeplechase.models.huggingface.families`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from search_space.architecture import Architecture
from steeplechase.models.huggingface.families import WeightPair, nearest
from steeplechase.models.huggingface.families.family import Layout, Modules, weights_and_biases

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class AxisOrder:
    """Order of a tensor's axes in this project and in transformers; the values are equal."""

    to_transformers: Map
    from_transformers: Map


ORDERS: dict[Layout, AxisOrder] = {
    "same": AxisOrder(lambda value: value, lambda value: value),
    # [vocabulary] here, one row of it in transformers
    "row": AxisOrder(lambda value: value[None], lambda value: value[0]),
    # [kernel channels] here, [channels 1 kernel] in the Conv1d of transformers
    "kernel_per_channel": AxisOrder(lambda value: value.T[:, None], lambda value: value[:, 0].T),
    # [outputs inputs] or [outputs] here, with a trailing axis of size 1 in transformers
    "one_tap": AxisOrder(lambda value: value[..., None], lambda value: value[..., 0]),
    # [outputs inputs] here, [inputs outputs] in the linear maps of transformers' GPT
    "transposed": AxisOrder(lambda value: value.T, lambda value: value.T),
    # sine and cosine channels side by side here, in two halves in transformers; on the first or the last axis
    "stream_first": AxisOrder(lambda value: _halves(value, 0), lambda value: _interleaved(value, 0)),
    "stream_last": AxisOrder(lambda value: _halves(value, -1), lambda value: _interleaved(value, -1)),
    # [heads 1 channels] here, [heads channels] in transformers' XLNet
    "one_query": AxisOrder(lambda value: value[:, 0], lambda value: value[:, None]),
    # [channels] here, with two axes of size 1 before it in transformers' XLNet
    "one_place": AxisOrder(lambda value: value[None, None], lambda value: value[0, 0]),
}


def _halves(value: Tensor, axis: int) -> Tensor:
    """Return the even channels of an axis, then the odd ones."""
    paired = value.movedim(axis, -1).unflatten(-1, (-1, 2)).transpose(-1, -2)
    ordered: Tensor = paired.flatten(-2).movedim(-1, axis)
    return ordered


def _interleaved(value: Tensor, axis: int) -> Tensor:
    """Return the channels of two halves of an axis in turn: the reverse of `_halves`."""
    paired = value.movedim(axis, -1).unflatten(-1, (2, -1)).transpose(-1, -2)
    ordered: Tensor = paired.flatten(-2).movedim(-1, axis)
    return ordered


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
    return nearest(architecture).encoder_pairs(architecture)


def head_pairs(objective: str) -> tuple[WeightPair, ...]:
    """Return the head that an objective adds to an ELECTRA, a ConvBERT, a GPT or an XLNet; others have none.

    The output table is tied to the embedding table in all, so only its bias is listed; GPT's has none, and that of an
    encoder with a decoder belongs to its architecture.
    """
    if objective in ("language_model", "denoising"):
        return ()
    if objective == "permutation_language_model":
        return (WeightPair("head.words.bias", "lm_loss.bias"),)
    if objective == "masked_language_model":
        return (*weights_and_biases(VOCABULARY_HEAD), WeightPair("head.words.bias", "generator_lm_head.bias"))
    assert objective == "replaced_token_detection", objective
    return weights_and_biases(DISCRIMINATOR_HEAD)


def under(prefix: str, pairs: Iterable[WeightPair]) -> tuple[WeightPair, ...]:
    """Return the pairs with a prefix on the names in transformers, but those beside the body."""
    return tuple(
        pair if pair.outside else replace(pair, transformers_name=f"{prefix}.{pair.transformers_name}")
        for pair in pairs
    )


def to_transformers(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights with the names and layouts of transformers."""
    parts: dict[str, list[Tensor]] = {}
    axes: dict[str, int] = {}
    for pair in pairs:
        value = ORDERS[pair.layout].to_transformers(weights[pair.name])
        value = value if pair.heads is None else value.unflatten(-1, (pair.heads, -1))
        parts.setdefault(pair.transformers_name, []).append(value)
        axes[pair.transformers_name] = pair.axis
    return {
        name: (each[0] if len(each) == 1 else torch.cat(each, axes[name])).contiguous()
        for name, each in parts.items()
    }


def from_transformers(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights with the names and layouts of this project."""
    found: dict[str, Tensor] = {}
    for pair in pairs:
        value = weights[pair.transformers_name]
        value = value if pair.third is None else value.chunk(3, pair.axis)[pair.third]
        value = value if pair.heads is None else value.flatten(-2)
        found[pair.name] = ORDERS[pair.layout].from_transformers(value).contiguous()
    return found
