"""A model family of transformers: its config.json in both directions, and the names of its weights."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import BaseModel

from search_space.activation import GATED
from search_space.architecture import Architecture
from search_space.convolution import NoConvolution
from steeplechase.foundation.schema import JsonValue

NO_EQUIVALENT = "has no equivalent in transformers"
CONVOLUTION = ("bottleneck_ratio", "convolution", "feed_forward_groups")
"""Fields that a family with `convolves` expresses, and that every other one refuses."""

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

FIXED: dict[str, JsonValue] = {
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
}
"""Constants of BERT's family; also the defaults of keys that a config.json omits."""

BASE: dict[str, JsonValue] = {
    **FIXED,
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 30522,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}

Layout = Literal[
    "same",
    "row",
    "kernel_per_channel",
    "one_tap",
    "transposed",
    "stream_first",
    "stream_last",
    "one_query",
    "one_place",
]
"""Order of a tensor's axes in transformers: `steeplechase.models.huggingface.weight_names` converts each."""


@dataclass(frozen=True)
class WeightPair:
    """One parameter: its name in this project and in transformers."""

    name: str
    transformers_name: str
    layout: Layout = "same"
    third: int | None = None
    """Which third of `axis` in transformers, where one tensor has queries, keys and values; None: all."""
    axis: int = -1
    """The axis of the thirds."""
    heads: int | None = None
    """The heads that transformers gives an axis of their own, before the last one; None: none."""
    outside: bool = False
    """Whether the parameter is beside the body in transformers, so that its name never has the body's prefix."""


ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
"""Function of config.json and of this project; of several names of one function the first is written."""

Modules = tuple[tuple[str, str], ...]

TABLES: Modules = (
    ("embeddings.tokens", "embeddings.word_embeddings"),
    ("embeddings.positions", "embeddings.position_embeddings"),
    ("embeddings.segments", "embeddings.token_type_embeddings"),
)
NORM: Modules = (("embeddings.norm", "embeddings.LayerNorm"),)
BLOCK: Modules = (
    ("attention.query", "attention.self.query"),
    ("attention.key", "attention.self.key"),
    ("attention.value", "attention.self.value"),
    ("attention.output", "attention.output.dense"),
    ("attention_norm", "attention.output.LayerNorm"),
    ("feed_forward.up", "intermediate.dense"),
    ("feed_forward.down", "output.dense"),
    ("feed_forward_norm", "output.LayerNorm"),
)


class Family(ABC):
    """A model family of transformers; `nearest` of the package chooses the one of an architecture."""

    model_type: ClassVar[str]
    """`model_type` of its config.json."""
    title: ClassVar[str]
    bare_class: ClassVar[str]
    """The class of transformers without a head."""
    prefix: ClassVar[str]
    """Prefix of the encoder's weights in a file with heads."""
    classes: ClassVar[Mapping[str, str]] = {}
    """Classes with a pretraining head that is equal to this project's, by kind of objective."""
    defaults: ClassVar[Mapping[str, JsonValue]]
    """Values of keys that a config.json omits."""
    fixed: ClassVar[Mapping[str, JsonValue]] = FIXED
    """Keys whose value no architecture changes."""
    sizes: ClassVar[Mapping[str, str]] = SIZES
    activation: ClassVar[str] = ""
    """The key of the activation function, where config.json chooses it."""
    activations: ClassVar[Mapping[str, str]] = ACTIVATIONS
    epsilon: ClassVar[str] = ""
    """The key of the layer norms' epsilon, where config.json chooses it."""
    norm: ClassVar[Mapping[str, object]] = {"kind": "post_norm"}
    """Fields of the normalisation beside its epsilon, where config.json chooses that."""
    own_fields: ClassVar[Mapping[str, object]] = {}
    """Fields of every architecture of the family."""
    convolves: ClassVar[bool] = False
    """Whether a convolution, a bottleneck and groups may stand beside attention."""
    projects_embeddings: ClassVar[bool] = True
    """Whether embeddings may have another width than the blocks."""
    dropouts: ClassVar[tuple[str, ...]] = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    """Keys of the dropout probability."""
    has_segments: ClassVar[bool] = True
    """Whether the family has segment embeddings."""
    buffers: ClassVar[tuple[str, ...]] = ()
    """Endings of names in older files that are not weights."""
    tied: ClassVar[Mapping[str, str]] = {}
    """Names in files that are copies of another tensor, and that tensor's."""
    zero: ClassVar[tuple[str, ...]] = ()
    """Names of tensors that must be 0, because no architecture has them."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Names of tensors that are 0 where a file has none."""
    generates: ClassVar[bool] = False
    """Whether it has a decoder that writes a target, so that a folder says how."""
    converted: ClassVar[frozenset[str]] = frozenset()
    """Fields of the architecture, beside the sizes, that config.json expresses or `obstacles` refuses."""

    def obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        """Yield every reason why the family has no equivalent model; `pad` is the identifier of [PAD] if known."""
        yield from self._own_obstacles(architecture, pad)
        if not self.convolves:
            yield from self._beside_attention(architecture)
        if not self.projects_embeddings and architecture.embedding_width != architecture.width:
            why = f"the embeddings of {self.bare_class} have the width of its blocks, {architecture.width}"
            yield f"embedding_width {architecture.embedding_width} {NO_EQUIVALENT}: {why}"
        if self.has_segments and not architecture.segments:
            yield f"segments 0 {NO_EQUIVALENT}: {self.bare_class} has at least 1"
        if not self.has_segments and architecture.segments:
            yield f"segments {architecture.segments} {NO_EQUIVALENT}: {self.bare_class} has none"
        known = {*SIZES, *CONVOLUTION, *self.converted}
        known |= {"normalisation", "feed_forward_activation"} if self.epsilon else set()
        for name, field in type(architecture).model_fields.items():
            value, default = getattr(architecture, name), field.get_default(call_default_factory=True)
            if name not in known and value != default:
                yield from (f"{found} {NO_EQUIVALENT}" for found in _unlike(name, value, default))

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        """Yield the reasons that the converted fields give."""
        yield from ()

    def _beside_attention(self, architecture: Architecture) -> Iterator[str]:
        """Yield what an architecture has beside plain attention and a dense feed-forward network."""
        if not isinstance(architecture.convolution, NoConvolution):
            why = f"{self.bare_class} has none, ConvBertModel span_dynamic alone"
            yield f"convolution {architecture.convolution.kind} {NO_EQUIVALENT}: {why}"
        if architecture.bottleneck_ratio != 1:
            why = f"{self.bare_class} has no bottleneck"
            yield f"bottleneck_ratio {architecture.bottleneck_ratio} {NO_EQUIVALENT}: {why}"
        if architecture.feed_forward_groups != 1:
            why = f"the feed-forward network of {self.bare_class} has no groups"
            yield f"feed_forward_groups {architecture.feed_forward_groups} {NO_EQUIVALENT}: {why}"

    def _norms_and_activation(self, architecture: Architecture) -> Iterator[str]:
        """Yield how norms and activation differ from what families before ModernBERT choose among."""
        norm, activation = architecture.normalisation, architecture.feed_forward_activation
        embedding = self.norm.get("embedding", True)
        yield from of_former_parts(architecture, self.bare_class)
        if norm.kind != self.norm["kind"] or norm.embedding != embedding:
            placed = f"{self.norm['kind']} {'with' if embedding else 'without'} a norm of the embeddings"
            found = f"normalisation {norm.kind}, embedding {norm.embedding}"
            yield f"{found}, {NO_EQUIVALENT}: {self.bare_class} has {placed}"
        if activation not in self.activations.values() and activation not in GATED:
            allowed = ", ".join(dict.fromkeys(self.activations.values()))
            yield f"feed_forward_activation {activation} {NO_EQUIVALENT}: those of {self.bare_class} are {allowed}"

    def head_class(self, objective: str | None) -> str | None:
        """Return the class that has the head of an objective too; None without such a class or head."""
        return None if objective is None else self.classes.get(objective)

    def pad(self, architecture: Architecture) -> int:
        """Return the identifier of [PAD] for a model without a vocabulary; trained vocabularies begin with [PAD]."""
        return 0

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of config.json that the family alone has, or has with values of its own."""
        names = [name for name, ours in self.activations.items() if ours == architecture.feed_forward_activation]
        written: dict[str, JsonValue] = {self.activation: names[0]} if self.activation else {}
        return written | ({self.epsilon: architecture.normalisation.epsilon} if self.epsilon else {})

    def completed(self, document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a config.json with the defaults of omitted keys."""
        return {**self.defaults, **document}

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        for key, value in self.fixed.items():
            if configured[key] != value:
                yield f"{key}: {configured[key]!r:.80} is not supported; allowed: {value!r}"
        if self.activation and configured[self.activation] not in [*self.activations]:
            found, allowed = configured[self.activation], ", ".join(map(repr, self.activations))
            yield f"{self.activation}: {found!r:.80} is not supported; allowed: {allowed}"
        if self.epsilon:
            epsilon = configured[self.epsilon]
            if not isinstance(epsilon, float) or not 0 < epsilon < 1:
                yield f"{self.epsilon}: {epsilon!r:.80} is not a number between 0 and 1"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        fields: dict[str, object] = {field: configured[key] for field, key in self.sizes.items()}
        if not self.projects_embeddings:
            fields["embedding_width"] = fields["width"]
        if self.activation:
            fields["feed_forward_activation"] = self.activations[str(configured[self.activation])]
        if self.epsilon:
            fields["normalisation"] = {**self.norm, "epsilon": configured[self.epsilon]}
        return {**fields, **self.own_fields}

    @abstractmethod
    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""


def _unlike(name: str, value: object, default: object) -> Iterator[str]:
    """Yield what differs from a default: of the same option its fields, else the option's kind or the value."""
    if isinstance(value, BaseModel) and type(value) is type(default):
        for inner in type(value).model_fields:
            if getattr(value, inner) != getattr(default, inner):
                yield f"{name}.{inner} {getattr(value, inner)}"
    else:
        yield f"{name} {getattr(value, 'kind', value)}"


def tables(modules: Modules = TABLES) -> tuple[WeightPair, ...]:
    """Return the weight of each module."""
    return tuple(WeightPair(f"{name}.weight", f"{other}.weight") for name, other in modules)


def weights_and_biases(modules: Modules) -> tuple[WeightPair, ...]:
    """Return the weight and the bias of each module."""
    return tuple(
        WeightPair(f"{name}.{part}", f"{other}.{part}") for name, other in modules for part in ("weight", "bias")
    )


def stack(
    depth: int, block: Iterable[WeightPair], theirs: str = "encoder.layer", ours: str = "blocks"
) -> Iterator[WeightPair]:
    """Yield the parameters of every block, under the names of both stacks."""
    block = tuple(block)
    for number in range(depth):
        for pair in block:
            names = f"{ours}.{number}.{pair.name}", f"{theirs}.{number}.{pair.transformers_name}"
            yield replace(pair, name=names[0], transformers_name=names[1])


def of_former_parts(architecture: Architecture, bare_class: str) -> Iterator[str]:
    """Yield the norm or the gate that no family before ModernBERT has."""
    if not architecture.normalisation.has_first_norm:
        yield f"normalisation.first False {NO_EQUIVALENT}: {bare_class} normalises the input of its first sublayer"
    if architecture.norm != "layer_norm":
        yield f"normalisation.norm {architecture.norm} {NO_EQUIVALENT}: {bare_class} has layer_norm"
    if architecture.feed_forward_activation in GATED:
        why = f"the feed-forward network of {bare_class} is not gated"
        yield f"feed_forward_activation {architecture.feed_forward_activation} {NO_EQUIVALENT}: {why}"
