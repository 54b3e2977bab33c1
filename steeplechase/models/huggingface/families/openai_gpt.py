"""GPT: a post-norm stack that reads from left to right. transformers 5.23, models/openai."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import NO_EQUIVALENT, Family, Layout, WeightPair, attention_alone
from steeplechase.models.huggingface.families.open_activation import wrong_activation

INNER_RATIO = 4
"""Inner width of the feed-forward networks by the width, in transformers' class."""
ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
"""Function of `afn` and of this project; of several names of one function the first is written."""
ACTIVATION, EPSILON = "afn", "layer_norm_epsilon"
SIZES = {
    "depth": "n_layer",
    "width": "n_embd",
    "heads": "n_head",
    "vocabulary_size": "vocab_size",
    "positions": "n_positions",
}
MAPS = (("attention.output", "attn.c_proj"), ("feed_forward.up", "mlp.c_fc"), ("feed_forward.down", "mlp.c_proj"))
NORMS = (("attention_norm", "ln_1"), ("feed_forward_norm", "ln_2"))


class OpenAiGpt(Family):
    """GPT of 2018; its linear maps are stored transposed, queries, keys and values in one."""

    model_type = "openai-gpt"
    title = "GPT"
    bare_class = "OpenAIGPTModel"
    classes: ClassVar = {"language_model": "OpenAIGPTLMHeadModel"}
    fixed: ClassVar = {}
    sizes: ClassVar = SIZES
    defaults: ClassVar = {
        "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 40478, "n_positions": 512,
        ACTIVATION: "gelu", EPSILON: 1e-5,
    }  # fmt: skip
    dropouts = ("resid_pdrop", "embd_pdrop", "attn_pdrop")
    has_segments = False
    buffers = (".attn.bias",)  # the causal mask
    converted = frozenset({
        "bottleneck_ratio", "convolution", "feed_forward_groups", "normalisation", "feed_forward_activation",
        "visibility",
    })  # fmt: skip

    @property
    def prefix(self) -> str:
        """Prefix of the encoder's weights in a file with heads."""
        return "transformer"

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from _beside_attention(architecture, self.bare_class)
        if architecture.normalisation.kind != "post_norm" or architecture.normalisation.embedding:
            why = f"{self.bare_class} has post_norm without a norm of the embeddings"
            kind = architecture.normalisation.kind
            yield f"normalisation {kind} with visibility left_to_right {NO_EQUIVALENT}: {why}"
        if architecture.embedding_width != architecture.width:
            why = f"the embeddings of {self.bare_class} have the width of its blocks, {architecture.width}"
            yield f"embedding_width {architecture.embedding_width} {NO_EQUIVALENT}: {why}"
        inner = INNER_RATIO * architecture.width
        if architecture.feed_forward_width != inner:
            why = f"that of {self.bare_class} is {INNER_RATIO} times the width, {inner}"
            yield f"feed_forward_width {architecture.feed_forward_width} {NO_EQUIVALENT}: {why}"
        if architecture.feed_forward_activation not in ACTIVATIONS.values():
            allowed = ", ".join(dict.fromkeys(ACTIVATIONS.values()))
            why = f"those of {self.bare_class} are {allowed}"
            yield f"feed_forward_activation {architecture.feed_forward_activation} {NO_EQUIVALENT}: {why}"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the activation function and the epsilon."""
        name = next(name for name, ours in ACTIVATIONS.items() if ours == architecture.feed_forward_activation)
        return {ACTIVATION: name, EPSILON: architecture.normalisation.epsilon}

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from wrong_activation(configured, ACTIVATION, EPSILON, ACTIVATIONS)

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        width = configured["n_embd"]
        assert isinstance(width, int)
        return super().fields(configured) | {
            "embedding_width": width,
            "feed_forward_width": INNER_RATIO * width,
            "feed_forward_activation": ACTIVATIONS[str(configured[ACTIVATION])],
            "normalisation": {"kind": "post_norm", "embedding": False, "epsilon": configured[EPSILON]},
            "segments": 0,
            "visibility": "left_to_right",
        }

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        tables = (
            WeightPair("embeddings.tokens.weight", "tokens_embed.weight"),
            WeightPair("embeddings.positions.weight", "positions_embed.weight"),
        )
        return (*tables, *(pair for number in range(architecture.depth) for pair in _block(number)))


def _beside_attention(architecture: Architecture, bare_class: str) -> Iterator[str]:
    """Yield what plain attention and a dense feed-forward network do not have; norms are not its matter."""
    normalised = architecture.normalisation.model_copy(update={"embedding": True})
    yield from attention_alone(architecture.model_copy(update={"normalisation": normalised}), bare_class)


def _block(number: int) -> Iterator[WeightPair]:
    ours, theirs = f"blocks.{number}.", f"h.{number}."
    for third, name in enumerate(("query", "key", "value")):
        for part in ("weight", "bias"):
            layout: Layout = "transposed" if part == "weight" else "same"
            yield WeightPair(f"{ours}attention.{name}.{part}", f"{theirs}attn.c_attn.{part}", layout, third)
    for one, other in MAPS:
        yield WeightPair(f"{ours}{one}.weight", f"{theirs}{other}.weight", "transposed")
        yield WeightPair(f"{ours}{one}.bias", f"{theirs}{other}.bias")
    for one, other in NORMS:
        for part in ("weight", "bias"):
            yield WeightPair(f"{ours}{one}.{part}", f"{theirs}{other}.{part}")
