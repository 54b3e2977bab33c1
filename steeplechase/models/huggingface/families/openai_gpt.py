"""GPT: a post-norm stack that reads from left to right. transformers 5.23, models/openai."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import (
    NO_EQUIVALENT,
    Family,
    Layout,
    WeightPair,
    stack,
    tables,
    weights_and_biases,
)

INNER_RATIO = 4
"""Inner width of the feed-forward networks by the width, in transformers' class."""
MAPS = (("attention.output", "attn.c_proj"), ("feed_forward.up", "mlp.c_fc"), ("feed_forward.down", "mlp.c_proj"))
TABLES = (("embeddings.tokens", "tokens_embed"), ("embeddings.positions", "positions_embed"))
NORMS = (("attention_norm", "ln_1"), ("feed_forward_norm", "ln_2"))


class OpenAiGpt(Family):
    """GPT of 2018; its linear maps are stored transposed, queries, keys and values in one."""

    model_type = "openai-gpt"
    title = "GPT"
    bare_class = "OpenAIGPTModel"
    classes: ClassVar = {"language_model": "OpenAIGPTLMHeadModel"}
    prefix = "transformer"
    fixed: ClassVar = {}
    sizes: ClassVar = {
        "depth": "n_layer",
        "width": "n_embd",
        "heads": "n_head",
        "vocabulary_size": "vocab_size",
        "positions": "n_positions",
    }
    defaults: ClassVar = {
        "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 40478, "n_positions": 512,
        "afn": "gelu", "layer_norm_epsilon": 1e-5,
    }  # fmt: skip
    activation, epsilon = "afn", "layer_norm_epsilon"
    activations: ClassVar = {"gelu": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
    norm: ClassVar = {"kind": "post_norm", "embedding": False}
    own_fields: ClassVar = {"segments": 0, "visibility": "left_to_right"}
    projects_embeddings = False
    dropouts = ("resid_pdrop", "embd_pdrop", "attn_pdrop")
    has_segments = False
    buffers = (".attn.bias",)  # the causal mask
    converted = frozenset({"visibility"})

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        yield from self._norms_and_activation(architecture)
        inner = INNER_RATIO * architecture.width
        if architecture.feed_forward_width != inner:
            why = f"that of {self.bare_class} is {INNER_RATIO} times the width, {inner}"
            yield f"feed_forward_width {architecture.feed_forward_width} {NO_EQUIVALENT}: {why}"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        width = configured["n_embd"]
        assert isinstance(width, int)
        return super().fields(configured) | {"feed_forward_width": INNER_RATIO * width}

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        return (*tables(TABLES), *stack(architecture.depth, _block(), "h"))


def _block() -> Iterator[WeightPair]:
    for third, name in enumerate(("query", "key", "value")):
        for part in ("weight", "bias"):
            layout: Layout = "transposed" if part == "weight" else "same"
            yield WeightPair(f"attention.{name}.{part}", f"attn.c_attn.{part}", layout, third)
    for one, other in MAPS:
        yield WeightPair(f"{one}.weight", f"{other}.weight", "transposed")
        yield WeightPair(f"{one}.bias", f"{other}.bias")
    yield from weights_and_biases(NORMS)
