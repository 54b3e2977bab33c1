"""One point of the search space: an option per axis plus sizes, and what it costs, in closed form.

Sizes and sharing follow the released ConvBERT and ELECTRA code; the defaults are ELECTRA-Small's discriminator
(Clark et al. 2020, arXiv 2003.10555, appendix A), which counts 13,483,008 parameters.
"""

from collections.abc import Iterator

from pydantic import Field

from search_space.convolution import Convolution, NoConvolution
from search_space.declaration import Count, Declaration
from search_space.shape import AttentionShape, layer_norm_parameters, linear_flops, linear_parameters
from search_space.violation import Violation


class Architecture(Declaration):
    """An encoder with post-norm blocks: mixed attention, then a (grouped) feed-forward network."""

    depth: Count = 12
    width: Count = 256
    embedding_width: Count = 128
    heads: Count = 4
    """Heads before the bottleneck; the head width is `width / heads` and never changes with it."""
    bottleneck_ratio: Count = 1
    """γ: heads and attention width shrink by it together (ConvBERT section 3.2)."""
    convolution: Convolution = Field(default_factory=NoConvolution)
    feed_forward_width: Count = 1024
    feed_forward_groups: Count = 1
    vocabulary_size: Count = 30522
    positions: Count = 512
    segments: Count = 2

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
    def parameters(self) -> int:
        """Trainable values of the encoder with its embeddings, without any head."""
        return self.embedding_parameters + self.depth * self.block_parameters

    @property
    def embedding_parameters(self) -> int:
        """Tables of tokens, positions and segments, their normalisation, and the map to the width."""
        rows = self.vocabulary_size + self.positions + self.segments
        tables = rows * self.embedding_width + layer_norm_parameters(self.embedding_width)
        if self.embedding_width == self.width:
            return tables
        return tables + linear_parameters(self.embedding_width, self.width)

    @property
    def block_parameters(self) -> int:
        """Values of one block: attention, convolution, output map, feed-forward, two normalisations."""
        shape = self.attention_shape
        context = shape.inner_width * (1 + self.convolution.branch_width_ratio)
        attention = 3 * linear_parameters(self.width, shape.inner_width) + linear_parameters(context, self.width)
        feed_forward = linear_parameters(self.width, self.feed_forward_width, self.feed_forward_groups)
        feed_forward += linear_parameters(self.feed_forward_width, self.width, self.feed_forward_groups)
        return attention + self.convolution.parameters(shape) + feed_forward + 2 * layer_norm_parameters(self.width)

    def forward_flops(self, length: int) -> int:
        """Return the operations of one forward pass over a sequence of `length` tokens, without any head.

        A multiply-add counts as 2; lookups, biases, normalisations and activations count as 0.
        """
        projection = 0
        if self.embedding_width != self.width:
            projection = linear_flops(self.embedding_width, self.width)
        return length * (projection + self.depth * self.block_flops(length))

    def block_flops(self, length: int) -> int:
        """Return the operations of one block on one token of a sequence of `length` tokens."""
        shape = self.attention_shape
        context = shape.inner_width * (1 + self.convolution.branch_width_ratio)
        maps = 3 * linear_flops(self.width, shape.inner_width) + linear_flops(context, self.width)
        scores = 4 * length * shape.inner_width  # scores and weighted values, 2 operations each
        feed_forward = linear_flops(self.width, self.feed_forward_width, self.feed_forward_groups)
        feed_forward += linear_flops(self.feed_forward_width, self.width, self.feed_forward_groups)
        return maps + scores + self.convolution.forward_flops(shape) + feed_forward

    def shrunk(self, ratio: int) -> "Architecture":
        """Return a generator of this architecture: width, heads and feed-forward width divided by `ratio`.

        Embeddings keep their width, because they are shared; the head width is kept where a head remains
        (the released ELECTRA and ConvBERT generators, 1/4 for small and 1/3 for base). γ and the groups are kept
        where they divide the smaller sizes, else they are the largest divisor below.
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
        """Return this architecture on another's embeddings."""
        shared = ("embedding_width", "vocabulary_size", "positions", "segments")
        return self.model_copy(update={name: getattr(other, name) for name in shared})


def _largest_divisor(whole: int, limit: int) -> int:
    return next(divisor for divisor in range(min(whole, limit), 0, -1) if whole % divisor == 0)


def _divides(architecture: Architecture, divisor_name: str, whole_name: str, reason: str) -> Iterator[Violation]:
    divisor, whole = getattr(architecture, divisor_name), getattr(architecture, whole_name)
    if whole % divisor == 0:
        return
    near = [d for d in range(max(1, divisor - 64), divisor + 65) if whole % d == 0]
    choices = ", ".join(map(str, sorted(sorted(near, key=lambda d: abs(d - divisor))[:4]))) or "1"
    message = f"{divisor} does not divide {whole_name} {whole}; {reason}. Allowed near it: {choices}"
    yield Violation((divisor_name,), message)
