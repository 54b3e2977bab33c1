"""ELECTRA, BERT's encoder with factorised embeddings, and BERT, which is read as the ELECTRA that computes the same.

transformers 5.23, models/electra and models/bert.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.convolution import NoConvolution
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import (
    BASE,
    BLOCK,
    NO_EQUIVALENT,
    NORM,
    Family,
    Modules,
    WeightPair,
    layers,
    tables,
    weights_and_biases,
)

PROJECTION: Modules = (("projection", "embeddings_project"),)


class Electra(Family):
    """Attention alone, as in BERT, whose models are exported as the ELECTRA that computes the same."""

    model_type = "electra"
    title = "ELECTRA"
    bare_class = "ElectraModel"
    classes: ClassVar = {
        "replaced_token_detection": "ElectraForPreTraining",
        "masked_language_model": "ElectraForMaskedLM",
    }
    defaults: ClassVar = {
        **BASE,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
        "embedding_size": 128,
    }
    converted = frozenset({"bottleneck_ratio", "convolution", "feed_forward_groups"})

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        if not isinstance(architecture.convolution, NoConvolution):
            kinds = "supported are span_dynamic (ConvBertModel) and none (ElectraModel)"
            yield f"convolution {architecture.convolution.kind} {NO_EQUIVALENT}: {kinds}"
            return
        if architecture.bottleneck_ratio != 1:
            why = "ElectraModel has no bottleneck"
            yield f"bottleneck_ratio {architecture.bottleneck_ratio} without convolution {NO_EQUIVALENT}: {why}"
        if architecture.feed_forward_groups != 1:
            why = "the feed-forward network of ElectraModel has no groups"
            groups = architecture.feed_forward_groups
            yield f"feed_forward_groups {groups} without convolution {NO_EQUIVALENT}: {why}"

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        projection = () if architecture.embedding_width == architecture.width else PROJECTION
        blocks = layers(architecture.depth, self.block_pairs())
        return (*tables(), *weights_and_biases(NORM), *weights_and_biases(projection), *blocks)

    def block_pairs(self) -> tuple[WeightPair, ...]:
        """Return the parameters of a block."""
        return weights_and_biases(BLOCK)


class Bert(Electra):
    """BERT's encoder; its embeddings are as wide as its blocks."""

    model_type = "bert"
    title = "BERT"
    bare_class = "BertModel"
    classes: ClassVar = {}
    defaults: ClassVar = BASE

    def completed(self, document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a config.json with the defaults of omitted keys, and the width of the embeddings."""
        configured = super().completed(document)
        return {**configured, "embedding_size": configured["hidden_size"]}
