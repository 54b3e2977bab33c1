"""BART and Marian, and what families with a decoder share: BART's names of weights. transformers 5.23."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.position import LearnedPositions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import (
    NO_EQUIVALENT,
    Family,
    Layout,
    Modules,
    WeightPair,
    of_former_parts,
    stack,
    tables,
    weights_and_biases,
)

SELF_ATTENTION: Modules = (
    ("attention.query", "self_attn.q_proj"),
    ("attention.key", "self_attn.k_proj"),
    ("attention.value", "self_attn.v_proj"),
    ("attention.output", "self_attn.out_proj"),
    ("attention_norm", "self_attn_layer_norm"),
)
CROSS_ATTENTION: Modules = (
    ("cross_attention.query", "encoder_attn.q_proj"),
    ("cross_attention.key", "encoder_attn.k_proj"),
    ("cross_attention.value", "encoder_attn.v_proj"),
    ("cross_attention.output", "encoder_attn.out_proj"),
    ("cross_attention_norm", "encoder_attn_layer_norm"),
)
FEED_FORWARD: Modules = (
    ("feed_forward.up", "fc1"),
    ("feed_forward.down", "fc2"),
    ("feed_forward_norm", "final_layer_norm"),
)
LEARNED_POSITIONS: Modules = (
    ("embeddings.positions", "encoder.embed_positions"),
    ("decoder.embeddings.positions", "decoder.embed_positions"),
)
EMBEDDING_NORMS: Modules = (
    ("embeddings.norm", "encoder.layernorm_embedding"),
    ("decoder.embeddings.norm", "decoder.layernorm_embedding"),
)
TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
OUTPUT_BIAS = "final_logits_bias"
EPSILON = 1e-5  # torch's, which both families have


class EncoderDecoderFamily(Family):
    """Both stacks post-norm with one table of embeddings, which is the output layer too."""

    defaults: ClassVar[Mapping[str, JsonValue]] = {
        "encoder_layers": 12,
        "decoder_layers": 12,
        "d_model": 1024,
        "encoder_attention_heads": 16,
        "decoder_attention_heads": 16,
        "encoder_ffn_dim": 4096,
        "decoder_ffn_dim": 4096,
        "max_position_embeddings": 1024,
        "activation_function": "gelu",
        "scale_embedding": False,
        "tie_word_embeddings": True,
    }
    fixed: ClassVar[Mapping[str, JsonValue]] = {"tie_word_embeddings": True}
    sizes: ClassVar[Mapping[str, str]] = {
        "depth": "encoder_layers",
        "decoder_depth": "decoder_layers",
        "width": "d_model",
        "heads": "encoder_attention_heads",
        "feed_forward_width": "encoder_ffn_dim",
        "vocabulary_size": "vocab_size",
    }
    prefix = "model"
    activation = "activation_function"
    activations: ClassVar = {
        "gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu", "swish": "swish", "silu": "swish",
    }  # fmt: skip
    dropouts: ClassVar = ("dropout", "attention_dropout")
    tied: ClassVar = dict.fromkeys(TIED, "shared.weight")
    generates = True
    generating_class: ClassVar[str]
    """The class with the output layer, which is part of the architecture."""
    pairs_of_equals: ClassVar = (
        ("encoder_attention_heads", "decoder_attention_heads"),
        ("encoder_ffn_dim", "decoder_ffn_dim"),
    )
    """Keys of the two stacks that are one field of the architecture."""
    embedding_norm: ClassVar[bool]
    """Whether the embeddings are normalised."""

    def head_class(self, objective: str | None) -> str | None:
        """Return the class with the output layer, whatever the objective."""
        return self.generating_class

    def obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        """Yield every reason why the family has no equivalent model."""
        if not isinstance(architecture, EncoderDecoderArchitecture):
            yield f"{self.bare_class} has a decoder"
            return
        plain: dict[str, object] = {"layers": None, "decoder_layers": None, "key_width": None, "value_width": None}
        plain |= {"feed_forward_groups": 1, "embedding_tying": "all", "attention_biases": True}
        for name, value in plain.items():
            if getattr(architecture, name) != value:
                yield f"{name} {getattr(architecture, name)} {NO_EQUIVALENT}"
        yield from of_former_parts(architecture, self.bare_class)
        norm = architecture.normalisation
        if norm.kind != "post_norm" or norm.embedding != self.embedding_norm or norm.epsilon != EPSILON:
            embedding = "with" if self.embedding_norm else "without"
            why = f"{self.bare_class} is post-norm {embedding} a norm of the embeddings, epsilon {EPSILON}"
            yield f"normalisation {norm.kind}, embedding {norm.embedding}, {norm.epsilon} {NO_EQUIVALENT}: {why}"
        yield from self._own_obstacles(architecture, pad)

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of config.json that both stacks have."""
        assert isinstance(architecture, EncoderDecoderArchitecture)
        return super().keys(architecture) | {
            "is_encoder_decoder": True,
            "tie_word_embeddings": True,
            "decoder_layers": architecture.decoder_depth,
            "decoder_attention_heads": architecture.heads,
            "decoder_ffn_dim": architecture.feed_forward_width,
            "scale_embedding": architecture.scaled_embeddings,
        }

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from super().wrong_values(configured)
        for one, other in self.pairs_of_equals:
            if configured[one] != configured[other]:
                yield f"{other}: {configured[other]!r:.80} is not supported; allowed: {one}, {configured[one]!r:.80}"
        longest = configured["max_position_embeddings"]
        if not isinstance(longest, int) or isinstance(longest, bool) or longest < 1:
            yield f"max_position_embeddings: {longest!r:.80} is not a whole number from 1"
        if not isinstance(configured["scale_embedding"], bool):
            yield f"scale_embedding: {configured['scale_embedding']!r:.80} is not true or false"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        norm = {"kind": "post_norm", "embedding": self.embedding_norm, "epsilon": EPSILON}
        own = {
            "kind": "encoder_decoder",
            "normalisation": norm,
            "scaled_embeddings": configured["scale_embedding"],
        }
        return {**super().fields(configured), **own, **self._positions(configured)}

    @abstractmethod
    def _positions(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the positions."""

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of both stacks, provided that `obstacles` yields none."""
        assert isinstance(architecture, EncoderDecoderArchitecture)
        encoder = weights_and_biases((*SELF_ATTENTION, *FEED_FORWARD))
        decoder = weights_and_biases((*SELF_ATTENTION, *CROSS_ATTENTION, *FEED_FORWARD))
        return (
            *tables((("embeddings.tokens", "shared"),)),
            *(tables(LEARNED_POSITIONS) if self._learns_positions else ()),
            *(weights_and_biases(EMBEDDING_NORMS) if self.embedding_norm else ()),
            *stack(architecture.depth, encoder, "encoder.layers"),
            *stack(architecture.decoder_depth, decoder, "decoder.layers", "decoder.blocks"),
        )

    _learns_positions: ClassVar[bool]


OFFSET = 2  # rows before the first position, BartLearnedPositionalEmbedding


class Bart(EncoderDecoderFamily):
    """Post-norm with normalised embeddings.

    Learned positions from row 2. transformers 5.23, models/bart.
    """

    model_type = "bart"
    title = "BART"
    bare_class = "BartModel"
    generating_class = "BartForConditionalGeneration"
    defaults: ClassVar = {**EncoderDecoderFamily.defaults, "vocab_size": 50265}
    zero = (OUTPUT_BIAS,)
    embedding_norm = True
    _learns_positions = True

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        position = architecture.position
        if not isinstance(position, LearnedPositions) or position.offset != OFFSET:
            yield f"position {position.kind} {NO_EQUIVALENT}: {self.bare_class} has learned ones with offset {OFFSET}"
        if getattr(architecture, "output_bias", False):
            yield f"output_bias True {NO_EQUIVALENT}: {self.bare_class} has none that is trained"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of config.json that the family alone has."""
        return super().keys(architecture) | {"max_position_embeddings": architecture.positions - OFFSET}

    def _positions(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        longest = configured["max_position_embeddings"]
        assert isinstance(longest, int)
        positions = {"positions": longest + OFFSET, "position": {"kind": "learned", "offset": OFFSET}}
        return {**positions, "initialisation": "truncated_normal"}


WRITES_STREAM = ("attention.output", "feed_forward.down")
"""Maps whose outputs, the first axis, are channels of the residual stream."""


class Marian(EncoderDecoderFamily):
    """Post-norm without a norm of the embeddings; the output layer has a bias, which is 0 for one without.

    Sinusoidal positions. transformers 5.23, models/marian. It lays sines into the first half of the channels and
    cosines into the second; this project interleaves them, as Vaswani et al. 2017 (section 3.5). Both are one model
    with the channels of the residual stream in another order, so the weights that read or write the stream are
    reordered on the way.
    """

    model_type = "marian"
    title = "Marian"
    bare_class = "MarianModel"
    generating_class = "MarianMTModel"
    buffers = ("embed_positions.weight",)
    optional = (OUTPUT_BIAS,)
    defaults: ClassVar = {
        **EncoderDecoderFamily.defaults,
        "vocab_size": 58101,
        "share_encoder_decoder_embeddings": True,
    }
    fixed: ClassVar = {**EncoderDecoderFamily.fixed, "share_encoder_decoder_embeddings": True}
    embedding_norm = False
    _learns_positions = False

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        if architecture.position.kind != "sinusoidal":
            yield f"position {architecture.position.kind} {NO_EQUIVALENT}: {self.bare_class} has sinusoidal ones"
        if architecture.width % 2:
            yield f"width {architecture.width} {NO_EQUIVALENT}: {self.bare_class} has pairs of a sine and a cosine"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of config.json that the family alone has."""
        own: dict[str, JsonValue] = {
            "max_position_embeddings": architecture.positions,
            "share_encoder_decoder_embeddings": True,
            "decoder_vocab_size": architecture.vocabulary_size,
        }
        return super().keys(architecture) | own

    def _positions(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        positions = {"positions": configured["max_position_embeddings"], "position": {"kind": "sinusoidal"}}
        return {**positions, "output_bias": True}

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of both stacks, with the axis of the residual stream's channels, and the bias."""
        assert isinstance(architecture, EncoderDecoderArchitecture)
        stacks = tuple(replace(pair, layout=_layout(pair.name)) for pair in super().encoder_pairs(architecture))
        bias = WeightPair("output_bias.bias", OUTPUT_BIAS, "row", outside=True)
        return (*stacks, bias) if architecture.output_bias else stacks


def _layout(name: str) -> Layout:
    """Return which axis of a parameter is the residual stream: the first of norms and output maps, else the last."""
    module, _, part = name.rpartition(".")
    if module.endswith(("_norm", *WRITES_STREAM)):
        return "stream_first"
    return "stream_last" if part == "weight" else "same"
