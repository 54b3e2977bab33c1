"""One point of the search space: an option per axis plus sizes, with its costs in closed form.

Sizes and sharing follow the released ConvBERT and ELECTRA code; the defaults are ELECTRA-Small's discriminator
(Clark et al. 2020, arXiv 2003.10555, appendix A), which counts 13,483,008 parameters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from foundation.errors import Violation
from foundation.schema import VARIANT_KEY, Count, Schema
from search_space.convolution import Convolution, NoConvolution
from search_space.cost import MATMUL, Component, Convention, Operations, Role, linear
from search_space.shape import AttentionShape, layer_norm_parameters, linear_parameters

ENCODER = "encoder"
NORMALISATION_STATISTICS = 2  # a mean and a deviation per token


class Architecture(Schema):
    """An encoder with post-norm blocks: mixed attention, then a (grouped) feed-forward network."""

    own_fields: ClassVar[tuple[str, ...]] = ()
    """Of a subclass: the fields that it has; the encoder's others are not its own."""
    depth: Count = 12
    """Number of blocks. Default: ELECTRA-Small's, as for every size here (arXiv 2003.10555, appendix A)."""
    width: Count = 256
    """Channels of the residual stream, the hidden size of a token."""
    embedding_width: Count = 128
    """Channels of the token embeddings; a linear map projects them to `width` where the two differ."""
    heads: Count = 4
    """Attention heads before the bottleneck; the head width is `width / heads` and never changes with γ."""
    bottleneck_ratio: Count = 1
    """γ: heads and attention width are divided by it together (ConvBERT, arXiv 2008.02496, section 3.2)."""
    convolution: Convolution = Field(default_factory=NoConvolution)
    """The convolution branch beside self-attention; `none` is attention alone, as in BERT and ELECTRA."""
    feed_forward_width: Count = 1024
    """Inner channels of the feed-forward network."""
    feed_forward_groups: Count = 1
    """Groups of both linear maps of the feed-forward network; 1 is the usual dense network."""
    vocabulary_size: Count = 30522
    """Tokens of the vocabulary, special tokens included. Default: BERT's uncased vocabulary."""
    positions: Count = 512
    """Learned position embeddings: the maximum sequence length in tokens."""
    segments: Count = 2
    """Segment embeddings: 2 distinguish the two texts of a pair."""

    @model_validator(mode="wrap")
    @classmethod
    def _by_kind(cls, document: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Choose by `kind`: `encoder`, the default and never written, or that of a subclass."""
        if cls is not Architecture or not isinstance(document, Mapping) or VARIANT_KEY not in document:
            return handler(document)
        kinds = {each.model_fields[VARIANT_KEY].default: each for each in cls.__subclasses__()}
        if document[VARIANT_KEY] in kinds:
            return kinds[document[VARIANT_KEY]].model_validate(document)
        if document[VARIANT_KEY] == ENCODER:
            return handler({name: value for name, value in document.items() if name != VARIANT_KEY})
        kind, known = document[VARIANT_KEY], (ENCODER, *kinds)
        raise ValueError(f"{kind!r} is not a kind of architecture; allowed: {', '.join(known)}")

    @model_serializer(mode="wrap")
    def _own_fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialise a subclass by its own fields."""
        own = self.own_fields
        return {name: getattr(self, name) for name in own} if own else cast("dict[str, Any]", handler(self))

    @property
    def is_counted(self) -> bool:
        """Whether its costs are counted on the built module, in place of the closed form."""
        return False

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the sizes break together."""
        yield from _divides(self, "heads", "width", "every head has the same width")
        yield from _divides(self, "bottleneck_ratio", "heads", "γ keeps whole heads")
        yield from _divides(self, "feed_forward_groups", "width", "the second grouped map splits it")
        yield from _divides(self, "feed_forward_groups", "feed_forward_width", "the first grouped map splits it")

    @property
    def attention_shape(self) -> AttentionShape:
        """Sizes of every attention sublayer."""
        return AttentionShape(self.width, self.heads // self.bottleneck_ratio, self.width // self.heads)

    @property
    def context_width(self) -> int:
        """Channels of the concatenation that the output map reads: attention's, then the branch's."""
        return self.attention_shape.inner_width * (1 + self.convolution.branch_width_ratio)

    @property
    def parameters(self) -> int:
        """Trainable parameters of the encoder with its embeddings, without heads."""
        return sum(part.all_parameters for part in self.parts(1))

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token, position and segment tables, their layer norm, and the projection to the width."""
        return sum(part.all_parameters for part in self.embedding_parts(1))

    def forward_flops(self, length: int, convention: Convention = MATMUL) -> int:
        """Return the FLOPs of one forward pass over a sequence of `length` tokens, without heads."""
        return convention.flops(self.parts(length), length)

    def parts(self, length: int) -> tuple[Component, ...]:
        """Return the components of the encoder, counted on a sequence of `length` tokens."""
        return (*self.embedding_parts(length), *self.block_parts(length))

    def embedding_parts(self, length: int) -> tuple[Component, Component]:
        """Return the embeddings and their projection to the width, which is empty if the widths are equal."""
        width, shape = self.embedding_width, self.attention_shape
        rows = self.vocabulary_size + self.positions + self.segments
        looked_up = self.vocabulary_size + length + self.segments  # rows of a dense one-hot product
        embedding = Operations(lookups=width * looked_up, additions=2 * width, normalised=width, dropped=width)
        tables = rows * width + layer_norm_parameters(width)
        embeddings = Component(Role.EMBEDDINGS, shape, tables, embedding, width + NORMALISATION_STATISTICS)
        if width == self.width:
            return embeddings, Component(Role.PROJECTION, shape, 0, Operations())
        projection = linear_parameters(width, self.width)
        return embeddings, Component(Role.PROJECTION, shape, projection, linear(width, self.width), width)

    def block_parts(self, length: int) -> tuple[Component, ...]:
        """Return the components of the blocks, each with `depth` copies."""
        sublayers = (*self._mixed_attention(length), self._feed_forward(), self._normalisations())
        return tuple(replace(part, copies=self.depth) for part in sublayers)

    def _mixed_attention(self, length: int) -> Iterator[Component]:
        shape, width, context = self.attention_shape, self.width, self.context_width
        inner, convolution = shape.inner_width, self.convolution
        qkv_operations = linear(width, 3 * inner)
        yield Component(
            Role.ATTENTION_MAPS, shape, 3 * linear_parameters(width, inner), qkv_operations, width + 3 * inner
        )
        pairs = length * shape.heads
        scores = Operations(multiply_adds=2 * length * inner, scalings=pairs, softmaxed=pairs, dropped=pairs)
        yield Component(
            Role.ATTENTION_SCORES, shape, 0, scores, inner + shape.heads
        )  # the normaliser of each softmax is saved
        branch = convolution.operations(shape)
        yield Component(
            Role.CONVOLUTION, shape, convolution.parameters(shape), branch, convolution.saved_activations(shape)
        )
        output = linear(context, width) + Operations(additions=width, dropped=width)
        saved = context if context > inner else 0  # attention's output is saved once, and so is the concatenation
        yield Component(Role.OUTPUT_MAP, shape, linear_parameters(context, width), output, saved)

    def _feed_forward(self) -> Component:
        width, inner, groups = self.width, self.feed_forward_width, self.feed_forward_groups
        maps = linear_parameters(width, inner, groups) + linear_parameters(inner, width, groups)
        operations = linear(width, inner, groups) + linear(inner, width, groups)
        operations += Operations(gelus=inner, additions=width, dropped=width)
        return Component(Role.FEED_FORWARD, self.attention_shape, maps, operations, width + 2 * inner)

    def _normalisations(self) -> Component:
        parameters, operations = 2 * layer_norm_parameters(self.width), Operations(normalised=2 * self.width)
        saved = 2 * (self.width + NORMALISATION_STATISTICS)
        return Component(Role.NORMALISATIONS, self.attention_shape, parameters, operations, saved)

    def shrunk(self, ratio: int) -> "Architecture":
        """Return a generator of this architecture: width, heads and feed-forward width divided by `ratio`.

        The embedding width is unchanged, because the embeddings are shared, and so is the head width (as in the
        released ELECTRA and ConvBERT generators, 1/4 for small and 1/3 for base). γ and the groups are unchanged
        where they divide the smaller sizes, else replaced by the largest smaller divisor.
        """
        heads = max(1, self.heads // ratio)
        width = heads * (self.width // self.heads)
        groups = _largest_divisor(width, self.feed_forward_groups)
        return self.model_copy(
            update={
                "width": width,
                "heads": heads,
                "bottleneck_ratio": _largest_divisor(heads, self.bottleneck_ratio),
                "feed_forward_width": groups * max(1, self.feed_forward_width // ratio // groups),
                "feed_forward_groups": groups,
            }
        )

    def with_embeddings_of(self, other: "Architecture") -> "Architecture":
        """Return this architecture with the embedding sizes of another, so that both can share the tables."""
        shared = ("embedding_width", "vocabulary_size", "positions", "segments")
        return self.model_copy(update={name: getattr(other, name) for name in shared})


def _largest_divisor(size: int, limit: int) -> int:
    return next(divisor for divisor in range(min(size, limit), 0, -1) if size % divisor == 0)


def _divides(architecture: Architecture, divisor_name: str, size_name: str, reason: str) -> Iterator[Violation]:
    divisor, size = getattr(architecture, divisor_name), getattr(architecture, size_name)
    if size % divisor == 0:
        return
    near = [d for d in range(max(1, divisor - 64), divisor + 65) if size % d == 0]
    choices = ", ".join(map(str, sorted(sorted(near, key=lambda d: abs(d - divisor))[:4]))) or "1"
    message = f"{divisor} does not divide {size_name} {size}; {reason}. Allowed near it: {choices}"
    yield Violation((divisor_name,), message)
