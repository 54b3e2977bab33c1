"""XLNet: relative positions and segments, read in any order. transformers 5.23, models/xlnet."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.position import RelativePositions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import (
    NO_EQUIVALENT,
    Family,
    WeightPair,
    stack,
    weights_and_biases,
)

CLAMP, MEMORY, HEAD_WIDTH = "clamp_len", "mem_len", "d_head"
FREE = -1
"""`clamp_len` without a largest distance."""
MAPS = (("query", "q"), ("key", "k"), ("value", "v"), ("relative.map", "r"))
BIASES = (("content_bias", "r_w_bias"), ("position_bias", "r_r_bias"), ("segments.bias", "r_s_bias"))
DENSE = (
    ("attention_norm", "rel_attn.layer_norm"),
    ("feed_forward.up", "ff.layer_1"),
    ("feed_forward.down", "ff.layer_2"),
    ("feed_forward_norm", "ff.layer_norm"),
)


class XlNet(Family):
    """XLNet of 2019; its attention maps are stored by head, and without biases."""

    model_type = "xlnet"
    title = "XLNet"
    bare_class = "XLNetModel"
    classes: ClassVar = {"permutation_language_model": "XLNetLMHeadModel"}
    fixed: ClassVar = {"attn_type": "bi", "bi_data": False, "same_length": False}
    prefix = "transformer"
    sizes: ClassVar = {
        "depth": "n_layer",
        "width": "d_model",
        "heads": "n_head",
        "feed_forward_width": "d_inner",
        "vocabulary_size": "vocab_size",
    }
    activation, epsilon = "ff_activation", "layer_norm_eps"
    norm: ClassVar = {"kind": "post_norm", "embedding": False}
    own_fields: ClassVar = {"segments": 0, "visibility": "permutation", "attention_biases": False}
    projects_embeddings = False
    defaults: ClassVar = {
        "n_layer": 24, "d_model": 1024, "n_head": 16, "d_inner": 4096, "vocab_size": 32000,
        "ff_activation": "gelu", "layer_norm_eps": 1e-12, CLAMP: FREE, MEMORY: 512, **fixed,
    }  # fmt: skip
    dropouts = ("dropout",)
    has_segments = False
    converted = frozenset({"visibility", "position", "memory", "attention_biases"})

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from self._norms_and_activation(architecture)
        if architecture.width % 2:
            yield f"width {architecture.width} {NO_EQUIVALENT}: {self.bare_class} has pairs of a sine and a cosine"
        if architecture.attention_biases:
            yield f"attention_biases True {NO_EQUIVALENT}: the maps of {self.bare_class} have none"
        position = architecture.position
        if not isinstance(position, RelativePositions) or not position.segment_encodings:
            yield f"position.segment_encodings False {NO_EQUIVALENT}: {self.bare_class} has them"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the activation function, the epsilon, and what positions and memory are."""
        assert isinstance(architecture.position, RelativePositions)
        return super().keys(architecture) | {
            CLAMP: architecture.position.clamp or FREE,
            MEMORY: architecture.memory or None,
            HEAD_WIDTH: architecture.width // architecture.heads,
        }

    def completed(self, document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a config.json with the defaults of omitted keys; heads share the width by default."""
        return super().completed({HEAD_WIDTH: None, **document})

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from super().wrong_values(configured)
        clamp, memory = configured[CLAMP], configured[MEMORY]
        if not _whole(clamp):
            yield f"{CLAMP}: {clamp!r:.80} is not a whole number; -1 for none"
        if memory is not None and not (_whole(memory) and int(str(memory)) >= 0):
            yield f"{MEMORY}: {memory!r:.80} is not a whole number from 0, or null for none"
        head_width, heads, width = (configured[key] for key in (HEAD_WIDTH, "n_head", "d_model"))
        sizes = isinstance(heads, int) and isinstance(width, int) and heads > 0
        if head_width is not None and sizes and head_width != width // heads:  # type: ignore[operator]
            yield f"{HEAD_WIDTH}: {head_width!r:.80} is not supported; allowed: d_model {width} / n_head {heads}"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        clamp = configured[CLAMP]
        position: dict[str, object] = {"kind": "relative", "segment_encodings": True}
        if isinstance(clamp, int) and clamp > 0:
            position["clamp"] = clamp
        return super().fields(configured) | {"position": position, "memory": configured[MEMORY] or 0}

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        outside = (
            WeightPair("embeddings.tokens.weight", "word_embedding.weight"),
            WeightPair("query_start.weight", "mask_emb", "one_place"),
        )
        return (*outside, *stack(architecture.depth, _block(architecture.heads), "layer"))


def _whole(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _block(heads: int) -> Iterator[WeightPair]:
    for one, other in MAPS:
        yield WeightPair(f"attention.{one}.weight", f"rel_attn.{other}", "transposed", heads=heads)
    yield WeightPair("attention.output.weight", "rel_attn.o", heads=heads)
    for one, other in BIASES:
        yield WeightPair(f"attention.relative.{one}", f"rel_attn.{other}", "one_query")
    yield WeightPair("attention.relative.segments.vectors", "rel_attn.seg_embed")
    yield from weights_and_biases(DENSE)
