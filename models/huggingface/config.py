"""config.json of transformers' ConvBERT, ELECTRA and BERT from an architecture and back, with every reason why not.

Source: transformers 5.23, configuration_convbert.py, configuration_electra.py, configuration_bert.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from foundation.schema import JsonValue
from search_space.architecture import Architecture
from search_space.convolution import NoConvolution, SpanDynamic

CONVBERT, ELECTRA, BERT = "convbert", "electra", "bert"
HEAD_RATIO = 2  # γ as ConvBertModel builds it: half the width for attention, half for convolution
PAD_LEAK = "pad_leak"  # ours; transformers keeps a key that it does not know and does nothing with it

SIZES = {
    "depth": "num_hidden_layers",
    "width": "hidden_size",
    "embedding_width": "embedding_size",
    "heads": "num_attention_heads",
    "feed_forward_width": "intermediate_size",
    "vocabulary_size": "vocab_size",
    "positions": "max_position_embeddings",
    "segments": "type_vocab_size",
}
"""Our field and their key, the same number on both sides; their heads, too, are counted before the bottleneck."""
CONVOLUTION_SIZES = {"kernel_size": "conv_kernel_size", "feed_forward_groups": "num_groups"}

FIXED: dict[str, JsonValue] = {
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
}
"""What an encoder of ours always is. It is also what a config.json means that leaves the key out."""

_BASE: dict[str, JsonValue] = {
    **FIXED,
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 30522,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
_SMALL: dict[str, JsonValue] = {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
DEFAULTS: dict[str, dict[str, JsonValue]] = {
    BERT: _BASE,
    ELECTRA: {**_BASE, **_SMALL, "embedding_size": 128},
    CONVBERT: {**_BASE, "embedding_size": 768, "head_ratio": HEAD_RATIO, "conv_kernel_size": 9, "num_groups": 1},
}
"""What a key that is left out means, by `model_type`."""


def model_type(architecture: Architecture) -> str:
    """Return the family that holds the architecture, where one does."""
    return ELECTRA if isinstance(architecture.convolution, NoConvolution) else CONVBERT


CLASSES = {
    (ELECTRA, "replaced_token_detection"): "ElectraForPreTraining",
    (ELECTRA, "masked_language_model"): "ElectraForMaskedLM",
    (CONVBERT, "masked_language_model"): "ConvBertForMaskedLM",
}
"""Their classes of an encoder with a pretraining head, by family and objective; ConvBERT has none that judges."""
BARE_CLASSES = {ELECTRA: "ElectraModel", CONVBERT: "ConvBertModel"}


def obstacles(architecture: Architecture) -> Iterator[str]:
    """Yield every reason why transformers has no model that computes the same; none where it has one."""
    convolution, ratio = architecture.convolution, architecture.bottleneck_ratio
    if isinstance(convolution, SpanDynamic):
        if ratio != HEAD_RATIO:
            why = "ConvBertModel is γ = 2 alone; its head_ratio changes heads, never attention's width"
            yield f"bottleneck_ratio: {ratio} cannot be said; {why}"
        if convolution.value != "own":
            why = "ConvBertModel's convolution has a value map of its own"
            yield f"convolution.value: {convolution.value} cannot be said; {why}"
    elif isinstance(convolution, NoConvolution):
        if ratio != 1:
            yield f"bottleneck_ratio: {ratio} cannot be said without convolution; ElectraModel has no bottleneck"
        if architecture.feed_forward_groups != 1:
            why = "without convolution; ElectraModel's feed-forward network has no groups"
            yield f"feed_forward_groups: {architecture.feed_forward_groups} cannot be said {why}"
    else:
        kinds = "of the kinds of convolution it has span_dynamic (ConvBertModel) and none (ElectraModel)"
        yield f"convolution: {convolution.kind} cannot be said; {kinds}"
    yield from _unknown_here(architecture)


def written(architecture: Architecture, class_name: str, dropout: float, pad: int) -> dict[str, JsonValue]:
    """Return config.json for `class_name`; `pad` is the identifier of [PAD]."""
    family = model_type(architecture)
    document: dict[str, JsonValue] = {
        "architectures": [class_name],
        "model_type": family,
        **{key: getattr(architecture, field) for field, key in SIZES.items()},
        **{key: value for key, value in FIXED.items() if key != "position_embedding_type"},
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
        "initializer_range": 0.02,
        "pad_token_id": pad,
        "bos_token_id": None,
        "eos_token_id": None,
        "dtype": "float32",
    }
    if isinstance(architecture.convolution, SpanDynamic):
        document |= {
            "head_ratio": HEAD_RATIO,
            "conv_kernel_size": architecture.convolution.kernel_size,
            "num_groups": architecture.feed_forward_groups,
            PAD_LEAK: architecture.convolution.padding,
        }
    return document


@dataclass(frozen=True)
class Reading:
    """What a config.json became: an architecture, or the reasons why it cannot be one."""

    architecture: Architecture | None
    reasons: tuple[str, ...]


def read(document: Mapping[str, JsonValue]) -> Reading:
    """Return the architecture that computes what the configured model computes, or all reasons why there is none."""
    family = document.get("model_type")
    if not isinstance(family, str) or family not in DEFAULTS:
        return Reading(
            None, (f"model_type: {family!r:.80} is not known here; allowed: {', '.join(sorted(DEFAULTS))}",)
        )
    said = {**DEFAULTS[family], **document}
    if family == BERT:
        said["embedding_size"] = said["hidden_size"]
    reasons = [*_wrong_values(said, family), *_wrong_sizes(said, family)]
    if reasons:
        return Reading(None, tuple(reasons))
    try:
        architecture = Architecture.model_validate(_fields(said, family))
    except ValidationError as error:
        return Reading(None, tuple(_told(fault["loc"], fault["msg"]) for fault in error.errors()))
    broken = tuple(_told(violation.path, violation.message) for violation in architecture.violations())
    return Reading(None if broken else architecture, broken)


def _wrong_values(said: Mapping[str, JsonValue], family: str) -> Iterator[str]:
    expected = {**FIXED, "head_ratio": HEAD_RATIO} if family == CONVBERT else FIXED
    for key, value in expected.items():
        if said[key] != value:
            yield f"{key}: {said[key]!r:.80} cannot be read; allowed: {value!r}"
    if family == CONVBERT and said.get(PAD_LEAK, "as_released") not in ("masked", "as_released"):
        yield f"{PAD_LEAK}: {said[PAD_LEAK]!r:.80} cannot be read; allowed: 'masked', 'as_released'"


def _wrong_sizes(said: Mapping[str, JsonValue], family: str) -> Iterator[str]:
    names = {**SIZES, **CONVOLUTION_SIZES} if family == CONVBERT else SIZES
    for key in names.values():
        size = said[key]
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            yield f"{key}: {size!r:.80} is not a whole number from 1"


def _fields(said: Mapping[str, JsonValue], family: str) -> dict[str, object]:
    fields: dict[str, object] = {field: said[key] for field, key in SIZES.items()}
    if family == CONVBERT:
        fields |= {
            "bottleneck_ratio": HEAD_RATIO,
            "feed_forward_groups": said["num_groups"],
            "convolution": {
                "kind": "span_dynamic",
                "kernel_size": said["conv_kernel_size"],
                "padding": said.get(PAD_LEAK, "as_released"),
            },
        }
    return fields


def _told(path: tuple[str | int, ...], message: str) -> str:
    """Return a rule of ours with their key in front."""
    keys = {**SIZES, **CONVOLUTION_SIZES, "bottleneck_ratio": "num_attention_heads"}
    field = str(path[-1])
    return f"{keys.get(field, field)}: {message.removeprefix('Value error, ')}"


def _unknown_here(architecture: Architecture) -> Iterator[str]:
    """Yield the axes that this file has not heard of, where they leave their default."""
    known = {*SIZES, "bottleneck_ratio", "convolution", "feed_forward_groups"}
    for name, field in type(architecture).model_fields.items():
        value = getattr(architecture, name)
        if name not in known and value != field.get_default(call_default_factory=True):
            yield f"{name}: {value!r} cannot be said"
