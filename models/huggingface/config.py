"""Converts an architecture to config.json of transformers' ConvBERT, ELECTRA and BERT, and back, or says why not.

Source: transformers 5.23, configuration_convbert.py, configuration_electra.py, configuration_bert.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from foundation.schema import JsonValue
from search_space.architecture import Architecture
from search_space.convolution import NoConvolution, SpanDynamic

CONVBERT, ELECTRA, BERT = "convbert", "electra", "bert"
FAMILY_NAMES = {CONVBERT: "ConvBERT", ELECTRA: "ELECTRA", BERT: "BERT"}
HEAD_RATIO = 2  # γ as ConvBertModel builds it: half the width for attention, half for convolution
PAD_LEAK = "pad_leak"  # a key of this project; transformers preserves unknown keys and ignores them

NO_EQUIVALENT = "has no equivalent in transformers"

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
"""Field of the architecture and key of config.json, with equal values; `heads` counts those before the bottleneck."""
CONVOLUTION_SIZES = {"kernel_size": "conv_kernel_size", "feed_forward_groups": "num_groups"}

FIXED: dict[str, JsonValue] = {
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
}
"""Constants of every encoder of this project; also the defaults of keys that a config.json omits."""

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
"""Defaults of omitted keys, by `model_type`."""


def model_type(architecture: Architecture) -> str:
    """Return the model type of transformers for the architecture, provided that `obstacles` yields none."""
    return ELECTRA if isinstance(architecture.convolution, NoConvolution) else CONVBERT


CLASSES = {
    (ELECTRA, "replaced_token_detection"): "ElectraForPreTraining",
    (ELECTRA, "masked_language_model"): "ElectraForMaskedLM",
    (CONVBERT, "masked_language_model"): "ConvBertForMaskedLM",
}
"""Classes of transformers with a pretraining head, by family and kind of objective; ConvBERT has no discriminator."""
BARE_CLASSES = {ELECTRA: "ElectraModel", CONVBERT: "ConvBertModel"}


def obstacles(architecture: Architecture) -> Iterator[str]:
    """Yield every reason why transformers has no equivalent model; nothing if it has one."""
    convolution, ratio = architecture.convolution, architecture.bottleneck_ratio
    if isinstance(convolution, SpanDynamic):
        if ratio != HEAD_RATIO:
            why = "ConvBertModel supports γ = 2 only; its head_ratio changes the heads, not attention's width"
            yield f"bottleneck_ratio {ratio} {NO_EQUIVALENT}: {why}"
        if convolution.value != "own":
            why = "the convolution of ConvBertModel has a separate value map (own)"
            yield f"convolution.value {convolution.value} {NO_EQUIVALENT}: {why}"
    elif isinstance(convolution, NoConvolution):
        if ratio != 1:
            yield f"bottleneck_ratio {ratio} without convolution {NO_EQUIVALENT}: ElectraModel has no bottleneck"
        if architecture.feed_forward_groups != 1:
            why = "the feed-forward network of ElectraModel has no groups"
            groups = architecture.feed_forward_groups
            yield f"feed_forward_groups {groups} without convolution {NO_EQUIVALENT}: {why}"
    else:
        kinds = "supported are span_dynamic (ConvBertModel) and none (ElectraModel)"
        yield f"convolution {convolution.kind} {NO_EQUIVALENT}: {kinds}"
    yield from _not_converted(architecture)


def written(architecture: Architecture, class_name: str, dropout: float, pad: int) -> dict[str, JsonValue]:
    """Return config.json for `class_name`; `pad` is the token identifier of [PAD]."""
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
    """Result of reading a config.json: an architecture, or the reasons why it is not supported."""

    architecture: Architecture | None
    reasons: tuple[str, ...]


def read(document: Mapping[str, JsonValue]) -> Reading:
    """Return the equivalent architecture of the configured model, or all reasons why there is none."""
    family = document.get("model_type")
    if not isinstance(family, str) or family not in DEFAULTS:
        return Reading(
            None, (f"model_type: {family!r:.80} is not supported; allowed: {', '.join(sorted(DEFAULTS))}",)
        )
    configured = {**DEFAULTS[family], **document}
    if family == BERT:
        configured["embedding_size"] = configured["hidden_size"]
    reasons = [*_wrong_values(configured, family), *_wrong_sizes(configured, family)]
    if reasons:
        return Reading(None, tuple(reasons))
    try:
        architecture = Architecture.model_validate(_fields(configured, family))
    except ValidationError as error:
        return Reading(None, tuple(_with_key(fault["loc"], fault["msg"]) for fault in error.errors()))
    broken = tuple(_with_key(violation.path, violation.message) for violation in architecture.violations())
    return Reading(None if broken else architecture, broken)


def _wrong_values(configured: Mapping[str, JsonValue], family: str) -> Iterator[str]:
    expected = {**FIXED, "head_ratio": HEAD_RATIO} if family == CONVBERT else FIXED
    for key, value in expected.items():
        if configured[key] != value:
            yield f"{key}: {configured[key]!r:.80} is not supported; allowed: {value!r}"
    if family == CONVBERT and configured.get(PAD_LEAK, "as_released") not in ("masked", "as_released"):
        yield f"{PAD_LEAK}: {configured[PAD_LEAK]!r:.80} is not supported; allowed: 'masked', 'as_released'"


def _wrong_sizes(configured: Mapping[str, JsonValue], family: str) -> Iterator[str]:
    names = {**SIZES, **CONVOLUTION_SIZES} if family == CONVBERT else SIZES
    for key in names.values():
        size = configured[key]
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            yield f"{key}: {size!r:.80} is not a whole number from 1"


def _fields(configured: Mapping[str, JsonValue], family: str) -> dict[str, object]:
    fields: dict[str, object] = {field: configured[key] for field, key in SIZES.items()}
    if family == CONVBERT:
        fields |= {
            "bottleneck_ratio": HEAD_RATIO,
            "feed_forward_groups": configured["num_groups"],
            "convolution": {
                "kind": "span_dynamic",
                "kernel_size": configured["conv_kernel_size"],
                "padding": configured.get(PAD_LEAK, "as_released"),
            },
        }
    return fields


def _with_key(path: tuple[str | int, ...], message: str) -> str:
    """Return a message of this project about a field, with the key of config.json in front."""
    keys = {**SIZES, **CONVOLUTION_SIZES, "bottleneck_ratio": "num_attention_heads"}
    field = str(path[-1])
    return f"{keys.get(field, field)}: {message.removeprefix('Value error, ')}"


def _not_converted(architecture: Architecture) -> Iterator[str]:
    """Yield the fields of the architecture that this file does not convert, if they differ from their default."""
    known = {*SIZES, "bottleneck_ratio", "convolution", "feed_forward_groups"}
    for name, field in type(architecture).model_fields.items():
        value = getattr(architecture, name)
        if name not in known and value != field.get_default(call_default_factory=True):
            yield f"{name} {value!r} {NO_EQUIVALENT}"
