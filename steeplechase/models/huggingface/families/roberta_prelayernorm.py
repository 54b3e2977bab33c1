"""RoBERTa with norms before its sublayers. transformers 5.23, models/roberta_prelayernorm."""

from collections.abc import Iterator
from typing import ClassVar

from search_space.architecture import Architecture
from steeplechase.models.huggingface.families.family import (
    BLOCK,
    NO_EQUIVALENT,
    NORM,
    Modules,
    WeightPair,
    layers,
    tables,
    weights_and_biases,
)
from steeplechase.models.huggingface.families.roberta import Roberta

NORMS = {"attention_norm": "attention.LayerNorm", "feed_forward_norm": "intermediate.LayerNorm"}
PRE_NORM_BLOCK: Modules = tuple((name, NORMS.get(name, other)) for name, other in BLOCK)
FINAL: Modules = (("final_norm", "LayerNorm"),)


class RobertaPreLayerNorm(Roberta):
    """A norm before every sublayer, and one of the last sublayer's output."""

    model_type = "roberta-prelayernorm"
    title = "RoBERTa-PreLayerNorm"
    bare_class = "RobertaPreLayerNormModel"
    placement: ClassVar = "pre_norm"

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from super()._own_obstacles(architecture, pad)
        if not architecture.normalisation.has_final_norm:
            why = "RobertaPreLayerNormModel normalises the output of its last block"
            yield f"normalisation.final False {NO_EQUIVALENT}: {why}"

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        blocks = layers(architecture.depth, weights_and_biases(PRE_NORM_BLOCK))
        return (*tables(), *weights_and_biases(NORM), *blocks, *weights_and_biases(FINAL))
