"""RoBERTa, BERT's encoder whose positions follow the row of [PAD], and its variant with norms before the sublayers.

transformers 5.23, models/roberta and models/roberta_prelayernorm.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.position import LearnedPositions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import (
    BASE,
    BLOCK,
    FIXED,
    NO_EQUIVALENT,
    NORM,
    SIZES,
    Family,
    Modules,
    WeightPair,
    stack,
    tables,
    weights_and_biases,
)

PAD = "pad_token_id"


ACTIVATION, EPSILON = "hidden_act", "layer_norm_eps"
OPEN: dict[str, JsonValue] = {key: value for key, value in FIXED.items() if key not in (ACTIVATION, EPSILON)}
"""Constants of families whose config.json chooses the activation function and the epsilon."""


class Roberta(Family):
    """The first token has the position `pad_token_id + 1`, so that the offset of an architecture sets [PAD]."""

    model_type = "roberta"
    title = "RoBERTa"
    bare_class = "RobertaModel"
    prefix = "roberta"
    fixed: ClassVar = OPEN
    activation, epsilon = ACTIVATION, EPSILON
    projects_embeddings = False
    defaults: ClassVar = {**BASE, "vocab_size": 50265, PAD: 1}
    sizes: ClassVar = {field: key for field, key in SIZES.items() if field != "embedding_width"}
    converted = frozenset({"position"})

    block: ClassVar[Modules] = BLOCK
    final: ClassVar[Modules] = ()
    """The norm behind the last block."""

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from self._norms_and_activation(architecture)
        position = architecture.position
        first = f"the first position of {self.bare_class} is pad_token_id + 1"
        if not isinstance(position, LearnedPositions):
            yield f"position {position.kind} {NO_EQUIVALENT}: {self.bare_class} has learned positions"
        elif not position.offset:
            yield f"position.offset 0 {NO_EQUIVALENT}: {first}"
        elif pad is not None and position.offset != pad + 1:
            yield f"position.offset {position.offset} {NO_EQUIVALENT}: {first}, and [PAD] is {pad} in the vocabulary"

    def pad(self, architecture: Architecture) -> int:
        """Return the identifier of [PAD] that the offset of the positions asks for."""
        position = architecture.position
        return position.offset - 1 if isinstance(position, LearnedPositions) else 0

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from super().wrong_values(configured)
        pad = configured[PAD]
        if not isinstance(pad, int) or isinstance(pad, bool) or not 0 <= pad < 64:
            yield f"{PAD}: {pad!r:.80} is not supported; allowed: a whole number from 0 to 63"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        pad = configured[PAD]
        assert isinstance(pad, int)
        position = {"kind": "learned", "offset": pad + 1}
        return super().fields(configured) | {"position": position}

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        blocks = stack(architecture.depth, weights_and_biases(self.block))
        return (*tables(), *weights_and_biases(NORM), *blocks, *weights_and_biases(self.final))


NORMS = {"attention_norm": "attention.LayerNorm", "feed_forward_norm": "intermediate.LayerNorm"}
PRE_NORM_BLOCK: Modules = tuple((name, NORMS.get(name, other)) for name, other in BLOCK)


class RobertaPreLayerNorm(Roberta):
    """A norm before every sublayer, and one of the last sublayer's output."""

    model_type = "roberta-prelayernorm"
    title = "RoBERTa-PreLayerNorm"
    bare_class = "RobertaPreLayerNormModel"
    prefix = "roberta_prelayernorm"
    norm: ClassVar = {"kind": "pre_norm"}
    block = PRE_NORM_BLOCK
    final = (("final_norm", "LayerNorm"),)

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from super()._own_obstacles(architecture, pad)
        if not architecture.normalisation.has_final_norm:
            why = "RobertaPreLayerNormModel normalises the output of its last block"
            yield f"normalisation.final False {NO_EQUIVALENT}: {why}"


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


class Albert(Family):
    """All blocks share their parameters, norms included; the embeddings are projected to the width.

    One block for all layers, with factorised embeddings. transformers 5.23, models/albert.
    """

    model_type = "albert"
    title = "ALBERT"
    bare_class = "AlbertModel"
    prefix = "albert"
    activation, epsilon = ACTIVATION, EPSILON
    own_fields: ClassVar = {"sharing": "all"}
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
    fixed: ClassVar = {**OPEN, **GROUPS}
    converted = frozenset({"sharing"})

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from self._norms_and_activation(architecture)
        if architecture.embedding_width == architecture.width:
            why = "AlbertModel projects its embeddings at every width"
            yield f"embedding_width {architecture.embedding_width}, equal to the width, {NO_EQUIVALENT}: {why}"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the activation function, the epsilon and the one group of blocks."""
        return super().keys(architecture) | GROUPS

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        modules = (*NORM, *PROJECTION, *SHARED_BLOCK)
        return (*tables(), *weights_and_biases(modules))
