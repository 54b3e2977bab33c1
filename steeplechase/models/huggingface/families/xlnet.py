"""XLNet: relative positions and segments, read in any order. transformers 5.23, models/xlnet."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.position import RelativePositions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import NO_EQUIVALENT, Family, WeightPair, attention_alone
from steeplechase.models.huggingface.families.open_activation import ACTIVATIONS, wrong_activation

ACTIVATION, EPSILON, CLAMP, MEMORY, HEAD_WIDTH = "ff_activation", "layer_norm_eps", "clamp_len", "mem_len", "d_head"
FREE = -1
"""`clamp_len` without a largest distance."""
SIZES = {
    "depth": "n_layer",
    "width": "d_model",
    "heads": "n_head",
    "feed_forward_width": "d_inner",
    "vocabulary_size": "vocab_size",
}
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
    sizes: ClassVar = SIZES
    defaults: ClassVar = {
        "n_layer": 24, "d_model": 1024, "n_head": 16, "d_inner": 4096, "vocab_size": 32000,
        ACTIVATION: "gelu", EPSILON: 1e-12, CLAMP: FREE, MEMORY: 512, **fixed,
    }  # fmt: skip
    dropouts = ("dropout",)
    has_segments = False
    converted = frozenset({
        "bottleneck_ratio", "convolution", "feed_forward_groups", "normalisation", "feed_forward_activation",
        "visibility", "position", "memory", "attention_biases",
    })  # fmt: skip

    @property
    def prefix(self) -> str:
        """Prefix of the encoder's weights in a file with heads."""
        return "transformer"

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        normalised = architecture.normalisation.model_copy(update={"embedding": True})
        yield from attention_alone(architecture.model_copy(update={"normalisation": normalised}), self.bare_class)
        if architecture.normalisation.kind != "post_norm" or architecture.normalisation.embedding:
            why = f"{self.bare_class} has post_norm without a norm of the embeddings"
            kind = architecture.normalisation.kind
            yield f"normalisation {kind} with visibility permutation {NO_EQUIVALENT}: {why}"
        if architecture.embedding_width != architecture.width:
            why = f"the embeddings of {self.bare_class} have the width of its blocks, {architecture.width}"
            yield f"embedding_width {architecture.embedding_width} {NO_EQUIVALENT}: {why}"
        if architecture.width % 2:
            yield f"width {architecture.width} {NO_EQUIVALENT}: {self.bare_class} has pairs of a sine and a cosine"
        if architecture.attention_biases:
            yield f"attention_biases True {NO_EQUIVALENT}: the maps of {self.bare_class} have none"
        position = architecture.position
        if not isinstance(position, RelativePositions) or not position.segment_encodings:
            yield f"position.segment_encodings False {NO_EQUIVALENT}: {self.bare_class} has them"
        if architecture.feed_forward_activation not in ACTIVATIONS.values():
            allowed = ", ".join(dict.fromkeys(ACTIVATIONS.values()))
            why = f"those of {self.bare_class} are {allowed}"
            yield f"feed_forward_activation {architecture.feed_forward_activation} {NO_EQUIVALENT}: {why}"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the activation function, the epsilon, and what positions and memory are."""
        assert isinstance(architecture.position, RelativePositions)
        name = next(name for name, ours in ACTIVATIONS.items() if ours == architecture.feed_forward_activation)
        return {
            ACTIVATION: name,
            EPSILON: architecture.normalisation.epsilon,
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
        yield from wrong_activation(configured, ACTIVATION, EPSILON, ACTIVATIONS)
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
        return super().fields(configured) | {
            "embedding_width": configured["d_model"],
            "feed_forward_activation": ACTIVATIONS[str(configured[ACTIVATION])],
            "normalisation": {"kind": "post_norm", "embedding": False, "epsilon": configured[EPSILON]},
            "position": position,
            "memory": configured[MEMORY] or 0,
            "attention_biases": False,
            "segments": 0,
            "visibility": "permutation",
        }

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        outside = (
            WeightPair("embeddings.tokens.weight", "word_embedding.weight"),
            WeightPair("query_start.weight", "mask_emb", "one_place"),
        )
        blocks = (_block(number, architecture.heads) for number in range(architecture.depth))
        return (*outside, *(pair for block in blocks for pair in block))


def _whole(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _block(number: int, heads: int) -> Iterator[WeightPair]:
    ours, theirs = f"blocks.{number}.", f"layer.{number}."
    for one, other in MAPS:
        yield WeightPair(f"{ours}attention.{one}.weight", f"{theirs}rel_attn.{other}", "transposed", heads=heads)
    yield WeightPair(f"{ours}attention.output.weight", f"{theirs}rel_attn.o", heads=heads)
    for one, other in BIASES:
        yield WeightPair(f"{ours}attention.relative.{one}", f"{theirs}rel_attn.{other}", "one_query")
    yield WeightPair(f"{ours}attention.relative.segments.vectors", f"{theirs}rel_attn.seg_embed")
    for one, other in DENSE:
        for part in ("weight", "bias"):
            yield WeightPair(f"{ours}{one}.{part}", f"{theirs}{other}.{part}")
