"""One point of the search space: an option per axis plus sizes, with its costs in closed form.

Sizes and sharing follow the released ConvBERT and ELECTRA code; the defaults are ELECTRA-Small's discriminator
(Clark et al. 2020, arXiv 2003.10555, appendix A), which counts 13,483,008 parameters.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from search_space.activation import FeedForwardActivation
from search_space.architecture_kind import ArchitectureByKind
from search_space.bottleneck import Ratio, fitted, kept_heads, refusal
from search_space.convolution import Convolution, NoConvolution
from search_space.convolution.kernel import WithKernel
from search_space.cost import MATMUL, Component, Convention, Operations, Role
from search_space.embeddings import EmbeddingSizes, embedding_components
from search_space.layer_lists import BLOCKS_AT_MOST, folded, is_read
from search_space.layer_program import LayerProgram
from search_space.norm import Norm, norm_parameters, saved_by_norm
from search_space.normalisation import Normalisation, PostNorm
from search_space.position import LearnedPositions, Position
from search_space.program_parser import InvalidProgram, parse_program
from search_space.reading_rules import reading_violations
from search_space.shape import AttentionShape, largest_divisor, not_dividing
from search_space.stack import Block, Sharing, blocks, components, convolutions, shared_violations, sublayer_mistakes
from search_space.sublayer.operation_chain import InvalidChain
from search_space.sublayer.own_convolution import window_mistake
from search_space.sublayer.sublayer import InvalidSetting, Size, StackSizes, Window
from search_space.visibility import Visibility
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, OrList, PositiveNumber, cached_until_options_change

PerLayer = Annotated[Size, OrList()]
"""A size of all sublayers of a kind, or a list with the size of each, from the input to the output."""


VOCABULARY_AT_MOST = 2**24  # trainers of vocabularies reserve memory for as many pieces before they count any


class Architecture(ArchitectureByKind):
    """An encoder: embeddings, then a stack of sublayers, each with a residual and a norm."""

    depth: Count = 12
    """Number of blocks, each self-attention and a feed-forward network: short for `layers: (s f)*12`.
    Default: ELECTRA-Small's, as for every size here (arXiv 2003.10555, appendix A)."""
    layers: str | None = None
    """The sublayers in order, as a layer program: s self-attention, f feed-forward, g gated linear unit, r recurrent,
    `[a|b]` in parallel, `<...>` a chain of operations; `depth` is then its number of blocks. None: `(s f)*depth`."""
    width: Size = 256
    """Channels of the residual stream, the hidden size of a token."""
    embedding_width: Size = 128
    """Channels of the token embeddings; a linear map projects them to `width` where the two differ."""
    heads: PerLayer = 4
    """Attention heads before the bottleneck; the head width is `width / heads` and never changes with γ."""
    key_width: PerLayer | None = None
    """Channels of a query and of a key, per head. None: `width / heads`."""
    value_width: PerLayer | None = None
    """Channels of a value, per head. None: `width / heads`."""
    key_value_heads: Size | None = None
    """Heads of keys and of values, each read by as many heads of queries: 1 is multi-query attention (Shazeer 2019,
    arXiv 1911.02150), others grouped (Ainslie et al. 2023, 2305.13245). After the bottleneck. None: one per head."""
    query_key_norm: bool = False
    """Whether queries and keys are normalised, head by head, before their product (Henry et al. 2020, 2010.04245)."""
    attention_score_cap: PositiveNumber | None = Field(default=None, examples=[50.0])
    """The soft cap c of the scores x of self-attention, c · tanh(x / c), positions included, before hidden keys are
    left out (Gemma 2, arXiv 2408.00118, section 2: 50). Torch's fused kernels have none, so that scores are matrix
    products whose weights are stored for all pairs, on processors and GPUs. None: no cap."""
    local: Window | None = None
    """The window of attention in tokens, half of it on each side of the own token (ModernBERT, 2412.13663: 128);
    even. `s(local=128)` and `s(local=none)` set it by layer. None: all tokens."""
    visibility: Visibility = "bidirectional"
    """The tokens that a token reads: all, those up to itself, or those from itself on. `prefix`: those up to itself,
    and all of the first segment (UNILM, arXiv 1905.03197); text that is no pair of segments is read left to right.
    `permutation`: those before itself in an order that pretraining draws, and all elsewhere (XLNet, 1906.08237)."""
    bottleneck_ratio: Annotated[Ratio, OrList()] = 1
    """γ: heads and attention width are divided by it together (ConvBERT, arXiv 2008.02496, section 3.2). It keeps
    whole heads: a number such as 2 or 1.5, which keeps 8 of 12, or a fraction such as "4/3"."""
    convolution: Annotated[Convolution, OrList()] = Field(default_factory=NoConvolution)
    """The convolution branch beside self-attention; `none` is attention alone, as in BERT and ELECTRA."""
    feed_forward_width: PerLayer = 1024
    """Inner channels of the feed-forward network."""
    feed_forward_groups: PerLayer = 1
    """Groups of both linear maps of the feed-forward network; 1 is the usual dense network."""
    feed_forward_activation: FeedForwardActivation = "gelu"
    """Activation function between the two linear maps of the feed-forward network; `geglu` and `swiglu` are gated, so
    that the first map has twice `feed_forward_width` channels."""
    feed_forward_biases: bool = True
    """Whether both maps of the feed-forward network have biases; ModernBERT's have none (arXiv 2412.13663)."""
    normalisation: Normalisation = Field(default_factory=PostNorm)
    """Where the layer norms stand. Default: after every residual sum, as in BERT and ELECTRA."""
    sharing: Sharing = "none"
    """The sublayers that share one set of parameters with their norms (ALBERT, arXiv 1909.11942, section 3.1)."""
    vocabulary_size: Annotated[int, Field(ge=1, le=VOCABULARY_AT_MOST)] = 30522
    """Tokens of the vocabulary, special tokens included. Default: BERT's uncased vocabulary."""
    position: Position = Field(default_factory=LearnedPositions)
    """How a token's position enters the model. Default: a learned embedding, as in BERT."""
    memory: Annotated[int, Field(ge=0, le=2**20)] = 0
    """Tokens of earlier segments that attention reads beside its own, without a gradient (Transformer-XL, arXiv
    1901.02860); needs relative positions and the packing `consecutive` or `continued_pairs`. 0: none."""
    attention_biases: bool = True
    """Whether the query, key, value and output maps of attention have biases; those of the Transformer have none."""
    positions: Count = 512
    """Rows of the table of learned positions: the maximum sequence length in tokens."""
    segments: Annotated[int, Field(ge=0, le=64)] = 2
    """Segment embeddings: 2 distinguish the two texts of a pair; 0 for none."""
    supersenses: Annotated[int, Field(ge=0, le=4096)] = 0
    """Supersense embeddings: those that a token's word may have, by the experiment's `lexicon`, are added to it
    (SenseBERT, arXiv 1908.05646, section 3; WordNet has 45); 0 for none."""

    source_width: ClassVar[int | None] = None
    """Channels of what cross-attention reads: an encoder has none."""

    @model_validator(mode="before")
    @classmethod
    def _fold_lists(cls, document: Any) -> Any:
        return folded(document, cls.model_fields["depth"].default) if isinstance(document, dict) else document

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the sizes break together."""
        with_heads = is_read("heads", self)  # else those of each sublayer are checked with it
        if self.key_width is None and with_heads:
            yield from not_dividing(self, "heads", "width", "every head has the same width")
        unfit = refusal(self.heads, self.bottleneck_ratio)
        if unfit is not None and with_heads:
            yield Violation(("bottleneck_ratio",), unfit)
        yield from not_dividing(self, "feed_forward_groups", "width", "the second grouped map splits it")
        if is_read("feed_forward_width", self):
            split = "the first grouped map splits it"
            yield from not_dividing(self, "feed_forward_groups", "feed_forward_width", split)
        if self.longest_sequence == 0:
            yield Violation(("positions",), f"{self.positions} positions are all before the first token's")
        yield from self._stack_violations()
        mistake = window_mistake(self.convolution, self.visibility)
        if mistake is not None:
            field = ("window",) if isinstance(self.convolution, WithKernel) else ()
            yield Violation(("convolution", *field), mistake)

    def _stack_violations(self) -> Iterator[Violation]:
        """Yield what the layer program and the sizes break together; nothing of sizes that are reported already."""
        where = ("layers",) if self.layers is not None else ("value_width",)
        if self.layers is None and self.depth > BLOCKS_AT_MOST:
            yield Violation(("depth",), f"{self.depth} blocks are too many; allowed: 1 to {BLOCKS_AT_MOST}")
            return
        try:
            distinct = tuple(dict.fromkeys(self.blocks))  # equal blocks break the same rules
        except (InvalidSetting, InvalidChain) as error:
            if self.layers is not None:
                yield Violation(("layers",), str(error))
            return
        # without a program, `violations` reports the sizes of feed-forward networks under their own fields
        checked = distinct if self.layers is not None else [block[:1] for block in distinct]
        for mistake in sublayer_mistakes(checked):
            yield Violation(where, mistake)
        yield from shared_violations(self.sharing, self.normalisation, distinct)
        yield from reading_violations(self.stack_sizes, self.program.items, self.normalisation, distinct)

    @property
    def program(self) -> LayerProgram:
        """The sublayers in order."""
        return parse_program(f"(s f)*{self.depth}" if self.layers is None else self.layers)

    @property
    def norm(self) -> Norm:
        """What the norms compute."""
        return self.normalisation.norm

    @property
    def programs(self) -> tuple[LayerProgram, ...]:
        """The programs of all stacks."""
        return (self.program,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of sublayers with their sizes. Raises InvalidSetting or InvalidChain for an invalid program."""
        return _blocks(self)

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """The blocks of all stacks. Raises InvalidSetting or InvalidChain for an invalid program."""
        return self.blocks

    @property
    def convolutions(self) -> tuple[Convolution, ...]:
        """The convolution of the stack, then those that its program sets; of an invalid program the first alone."""
        try:
            return tuple(dict.fromkeys((self.convolution, *convolutions(self.all_blocks))))
        except (InvalidSetting, InvalidChain, InvalidProgram):
            return (self.convolution,)

    @property
    def stacked_blocks(self) -> int:
        """Blocks of all stacks."""
        return self.depth

    @property
    def stack_sizes(self) -> StackSizes:
        """The sizes of the sublayers for which the program sets no others."""
        return StackSizes(**{name: getattr(self, name) for name in StackSizes.__dataclass_fields__})

    @property
    def attention_shape(self) -> AttentionShape:
        """Sizes of an attention sublayer for which the program sets no others."""
        head_width = self.key_width or max(1, self.width // self.heads)
        return AttentionShape(self.width, int(kept_heads(self.heads, self.bottleneck_ratio)), head_width)

    @property
    def context_width(self) -> int:
        """Channels of the concatenation that the output map reads: attention's, then the branch's."""
        return self.attention_shape.inner_width * (1 + self.convolution.branch_width_ratio)

    @property
    def longest_sequence(self) -> int | None:
        """The longest sequence in tokens; None for any length."""
        return self.position.longest(self.positions)

    def too_long(self, length: int) -> str | None:
        """Return why a sequence of `length` tokens is too long, or None."""
        longest = self.longest_sequence
        if longest is None or length <= longest:
            return None
        return f"{length} is longer than the {longest} positions of the architecture"

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
        return (*self.embedding_parts(length), *self.block_parts(length), *self.final_parts())

    def embedding_parts(self, length: int) -> tuple[Component, Component]:
        """Return the embeddings and their projection to the width, which is empty if the widths are equal."""
        sizes = EmbeddingSizes(**{name: getattr(self, name) for name in EmbeddingSizes.__dataclass_fields__})
        return embedding_components(sizes, self.attention_shape, length)

    def block_parts(self, length: int) -> tuple[Component, ...]:
        """Return the components of the blocks; those of equal blocks are one component with copies."""
        return components(self.blocks, self.sharing, self.normalisation, length)

    def final_parts(self) -> tuple[Component, ...]:
        """Return the norm of the last sublayer's output, if there is one."""
        if not self.normalisation.has_final_norm:
            return ()
        parameters, saved = norm_parameters(self.norm, self.width), saved_by_norm(self.norm, self.width)
        return (
            Component(Role.FINAL_NORM, self.attention_shape, parameters, Operations(normalised=self.width), saved),
        )

    def shrunk(self, ratio: int) -> "Architecture":
        """Return a generator of this architecture: width, heads and feed-forward width divided by `ratio`.

        The embedding width is unchanged, because the embeddings are shared, and so is the head width (as in the
        released ELECTRA and ConvBERT generators, 1/4 for small and 1/3 for base), unless heads outnumber channels.
        γ and the groups are unchanged where they divide the smaller sizes, else the largest whole divisors below.
        """
        heads = max(1, self.heads // ratio)
        apart = self.width % self.heads and not is_read("heads", self)  # each sublayer has heads of its own
        width = 0 if apart else heads * (self.width // self.heads)
        width = width or max(1, self.width // ratio)
        groups, bottleneck = largest_divisor(width, self.feed_forward_groups), self.bottleneck_ratio
        bottleneck = bottleneck if ratio == 1 else fitted(heads, bottleneck)
        kept, stored = int(kept_heads(heads, bottleneck)), self.key_value_heads
        smaller = self.model_copy(
            update={
                "width": width,
                "heads": heads,
                "bottleneck_ratio": bottleneck,
                "key_value_heads": None if stored is None else largest_divisor(kept, max(1, stored // ratio)),
                "feed_forward_width": groups * max(1, self.feed_forward_width // ratio // groups),
                "feed_forward_groups": groups,
            }
        )
        program = None if self.layers is None else str(self.program.shrunk(ratio, smaller))
        return smaller.model_copy(update={"layers": program})

    def with_embeddings_of(self, other: "Architecture") -> "Architecture":
        """Return this architecture with the embedding sizes of another, so that both can share the tables."""
        shared = ("embedding_width", "vocabulary_size", "position", "positions", "segments", "supersenses")
        return self.model_copy(update={name: getattr(other, name) for name in shared})


@cached_until_options_change
def _blocks(architecture: Architecture) -> tuple[Block, ...]:
    return blocks(architecture.program, architecture.stack_sizes)
