"""Names and layouts of the weights in this project and in transformers' models.

Source: transformers 5.23, the modelling file of each family in `models.huggingface.families`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from models.huggingface.families import WeightPair, nearest
from models.huggingface.families.family import Layout, Modules, weights_and_biases
from search_space.architecture import Architecture

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class AxisOrder:
    """Order of a tensor's axes in this project and in transformers; the values are equal."""

    to_transformers: Map
    from_transformers: Map


ORDERS: dict[Layout, AxisOrder] = {
    "same": AxisOrder(lambda value: value, lambda value: value),
    # [kernel channels] here, [channels 1 kernel] in the Conv1d of transformers
    "kernel_per_channel": AxisOrder(lambda value: value.T[:, None], lambda value: value[:, 0].T),
    # [outputs inputs] or [outputs] here, with a trailing axis of size 1 in transformers
    "one_tap": AxisOrder(lambda value: value[..., None], lambda value: value[..., 0]),
}

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
    """Return the head that an objective adds to an ELECTRA or a ConvBERT; other families are exported without.

    The output table is tied to the embedding table in both, so only its bias is listed.
    """
    if objective == "masked_language_model":
        return (*weights_and_biases(VOCABULARY_HEAD), WeightPair("head.words.bias", "generator_lm_head.bias"))
    assert objective == "replaced_token_detection", objective
    return weights_and_biases(DISCRIMINATOR_HEAD)


def under(prefix: str, pairs: Iterable[WeightPair]) -> tuple[WeightPair, ...]:
    """Return the pairs with a prefix on the names in transformers."""
    return tuple(replace(pair, transformers_name=f"{prefix}.{pair.transformers_name}") for pair in pairs)


def to_transformers(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights with the names and layouts of transformers."""
    return {
        pair.transformers_name: ORDERS[pair.layout].to_transformers(weights[pair.name]).contiguous() for pair in pairs
    }


def from_transformers(weights: Mapping[str, Tensor], pairs: Iterable[WeightPair]) -> dict[str, Tensor]:
    """Return the pairs' weights with the names and layouts of this project."""
    return {
        pair.name: ORDERS[pair.layout].from_transformers(weights[pair.transformers_name]).contiguous()
        for pair in pairs
    }
