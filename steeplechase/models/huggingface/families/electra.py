"""ELECTRA, BERT's encoder with factorised embeddings, and BERT, which is read as the ELECTRA that computes the same.

transformers 5.23, models/electra and models/bert.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
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

PROJECTION: Modules = (("projection", "embeddings_project"),)


class Electra(Family):
    """Attention alone, as in BERT, whose models are exported as the ELECTRA that computes the same."""

    model_type = "electra"
    title = "ELECTRA"
    bare_class = "ElectraModel"
    prefix = "electra"
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

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        projection = () if architecture.embedding_width == architecture.width else PROJECTION
        blocks = stack(architecture.depth, self.block_pairs())
        return (*tables(), *weights_and_biases((*NORM, *projection)), *blocks)

    def block_pairs(self) -> tuple[WeightPair, ...]:
        """Return the parameters of a block."""
        return weights_and_biases(BLOCK)


class Bert(Electra):
    """BERT's encoder; its embeddings are as wide as its blocks."""

    model_type = "bert"
    title = "BERT"
    bare_class = "BertModel"
    prefix = "bert"
    classes: ClassVar = {}
    defaults: ClassVar = BASE

    def completed(self, document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a config.json with the defaults of omitted keys, and the width of the embeddings."""
        configured = super().completed(document)
        return {**configured, "embedding_size": configured["hidden_size"]}


HEAD_RATIO = 2  # γ as ConvBertModel builds it: half the width for attention, half for convolution
PAD_LEAK = "pad_leak"  # a key of this project; transformers preserves unknown keys and ignores them

BRANCH: Modules = (
    ("attention.branch.value", "attention.self.conv_out_layer"),
    ("attention.branch.generate", "attention.self.conv_kernel_layer"),
)
SPAN_KEY_NAME, TRANSFORMERS_SPAN_KEY = "attention.branch.span_key", "attention.self.key_conv_attn_layer"
SPAN_KEY = (
    WeightPair(
        f"{SPAN_KEY_NAME}.depthwise.weight", f"{TRANSFORMERS_SPAN_KEY}.depthwise.weight", "kernel_per_channel"
    ),
    WeightPair(f"{SPAN_KEY_NAME}.pointwise.weight", f"{TRANSFORMERS_SPAN_KEY}.pointwise.weight", "one_tap"),
    WeightPair(f"{SPAN_KEY_NAME}.pointwise.bias", f"{TRANSFORMERS_SPAN_KEY}.bias", "one_tap"),
)


class ConvBert(Electra):
    """Attention with γ at 2 and the convolution beside it; ConvBERT of transformers has no discriminator.

    ELECTRA's encoder with a span-based dynamic convolution. transformers 5.23, models/convbert.
    """

    model_type = "convbert"
    title = "ConvBERT"
    bare_class = "ConvBertModel"
    prefix = "convbert"
    convolves = True
    classes: ClassVar = {"masked_language_model": "ConvBertForMaskedLM"}
    defaults: ClassVar = {
        **BASE,
        "embedding_size": 768,
        "head_ratio": HEAD_RATIO,
        "conv_kernel_size": 9,
        "num_groups": 1,
    }
    fixed: ClassVar = {**FIXED, "head_ratio": HEAD_RATIO}
    sizes: ClassVar = {**SIZES, "kernel_size": "conv_kernel_size", "feed_forward_groups": "num_groups"}

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        convolution, ratio = architecture.convolution, architecture.bottleneck_ratio
        assert isinstance(convolution, SpanDynamic)
        if ratio != HEAD_RATIO:
            why = "ConvBertModel supports γ = 2 only; its head_ratio changes the heads, not attention's width"
            yield f"bottleneck_ratio {ratio} {NO_EQUIVALENT}: {why}"
        if convolution.value != "own":
            why = "the convolution of ConvBertModel has a separate value map (own)"
            yield f"convolution.value {convolution.value} {NO_EQUIVALENT}: {why}"
        if convolution.window != "centred":
            why = "the window of ConvBertModel is centred"
            yield f"convolution.window {convolution.window} {NO_EQUIVALENT}: {why}"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of the convolution and of the groups."""
        convolution = architecture.convolution
        assert isinstance(convolution, SpanDynamic)
        return {
            "head_ratio": HEAD_RATIO,
            "conv_kernel_size": convolution.kernel_size,
            "num_groups": architecture.feed_forward_groups,
            PAD_LEAK: convolution.padding,
        }

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from super().wrong_values(configured)
        if configured.get(PAD_LEAK, "as_released") not in ("masked", "as_released"):
            yield f"{PAD_LEAK}: {configured[PAD_LEAK]!r:.80} is not supported; allowed: 'masked', 'as_released'"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        fields = super().fields(configured)
        convolution = {
            "kind": "span_dynamic",
            "kernel_size": fields.pop("kernel_size"),
            "padding": configured.get(PAD_LEAK, "as_released"),
        }
        return fields | {"bottleneck_ratio": HEAD_RATIO, "convolution": convolution}

    def block_pairs(self) -> tuple[WeightPair, ...]:
        """Return the parameters of a block."""
        return (*weights_and_biases(BLOCK), *weights_and_biases(BRANCH), *SPAN_KEY)
