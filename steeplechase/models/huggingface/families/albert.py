"""ALBERT: one block for all layers, with factorised embeddings. transformers 5.23, models/albert."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import (
    BASE,
    NO_EQUIVALENT,
    NORM,
    Modules,
    WeightPair,
    attention_alone,
    tables,
    weights_and_biases,
)
from steeplechase.models.huggingface.families.open_activation import WithActivation

GROUPS: dict[str, JsonValue] = {"num_hidden_groups": 1, "inner_group_num": 1}
PROJECTION: Modules = (("projection", "encoder.embedding_hidden_mapping_in"),)
LAYER = "encoder.albert_layer_groups.0.albert_layers.0"
SHARED_BLOCK: Modules = tuple(
    (f"blocks.0.{name}", f"{LAYER}.{other}")
    for name, other in (
        ("attention.query", "attention.query"),
        ("attention.key", "attention.key"),
        ("attention.value", "attention.value"),
        ("attention.output", "attention.dense"),
        ("attention_norm", "attention.LayerNorm"),
        ("feed_forward.up", "ffn"),
        ("feed_forward.down", "ffn_output"),
        ("feed_forward_norm", "full_layer_layer_norm"),
    )
)


class Albert(WithActivation):
    """All blocks share their parameters, norms included; the embeddings are projected to the width."""

    model_type = "albert"
    title = "ALBERT"
    bare_class = "AlbertModel"
    defaults: ClassVar = {
        **BASE,
        **GROUPS,
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "hidden_act": "gelu_new",
    }
    fixed: ClassVar = {**WithActivation.fixed, **GROUPS}
    converted = frozenset({*WithActivation.converted, "sharing"})

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from attention_alone(architecture, self.bare_class)
        if architecture.embedding_width == architecture.width:
            why = "AlbertModel projects its embeddings at every width"
            yield f"embedding_width {architecture.embedding_width}, equal to the width, {NO_EQUIVALENT}: {why}"
        if architecture.normalisation.kind != self.placement:
            why = "AlbertModel has norms after its sublayers"
            yield f"normalisation {architecture.normalisation.kind} {NO_EQUIVALENT}: {why}"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the activation function, the epsilon and the one group of blocks."""
        return super().keys(architecture) | GROUPS

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        return super().fields(configured) | {"sharing": "all"}

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        modules = (*NORM, *PROJECTION, *SHARED_BLOCK)
        return (*tables(), *weights_and_biases(modules))
