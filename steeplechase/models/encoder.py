"""The encoder: embeddings, then blocks of sublayers. Devlin et al. 2018; factorised embeddings: ELECTRA-Small.

Supersense embeddings are those of the senses that a token's word may have: Levine et al. 2019, arXiv 1908.05646.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout

from search_space.architecture import Architecture
from search_space.stack import shared_kinds
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.activation_checkpointing import ActivationCheckpointing, possible_mode, run_checkpointed
from steeplechase.models.attention_context import AttentionContext
from steeplechase.models.block import NORM, Block
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.kernels.residual_norm import norm_alone
from steeplechase.models.norm import norm_of
from steeplechase.models.precision import to_autocast_dtype


class SupersenseEmbeddings(nn.Module):
    """One vector per supersense; a token has the sum of those that its word may have: S M x of the paper.

    `allowed` is stored in checkpoints, so that a fine-tuned encoder needs no lexicon.
    """

    allowed: Bool[Tensor, "vocab senses"]
    """The supersenses of the vocabulary's tokens; none until `allow` sets them."""

    def __init__(self, supersenses: int, tokens: nn.Embedding) -> None:
        super().__init__()
        self.senses = nn.Embedding(supersenses, tokens.embedding_dim)
        self.register_buffer("allowed", torch.zeros(tokens.num_embeddings, supersenses, dtype=torch.bool))

    @property
    def table(self) -> Float[Tensor, "senses embedding"]:
        """S: the supersense embeddings, shared with the output layer of supersenses."""
        return self.senses.weight

    def allow(self, allowed: Bool[Tensor, "known senses"]) -> None:
        """Set the supersenses of the vocabulary's tokens; the table may have more rows than the vocabulary."""
        self.allowed.zero_()
        self.allowed[: len(allowed)] = allowed

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq embedding"]:
        """Return the sum of the embeddings of every token's supersenses."""
        summed: Tensor = self.allowed[tokens].to(self.table.dtype) @ self.table
        return summed


class Embeddings(nn.Module):
    """Sum of token, position, segment and supersense embeddings, then a norm; a generator has the encoder's."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        width, normalisation = architecture.embedding_width, architecture.normalisation
        self.tokens = nn.Embedding(architecture.vocabulary_size, width)
        self.positions: nn.Module = module_of(architecture.position).build(
            architecture.position, architecture.positions, width
        )
        self.segments = nn.Embedding(architecture.segments, width) if architecture.segments else None
        senses = architecture.supersenses
        self.supersenses = SupersenseEmbeddings(senses, self.tokens) if senses else None
        self.norm = norm_of(normalisation, width) if normalisation.embedding else None

    def forward(
        self, tokens: Int[Tensor, "batch seq"], segments: Int[Tensor, "batch seq"] | None, first: int = 0
    ) -> Float[Tensor, "batch seq embedding"]:
        """Return the embedded tokens, of which the first stands at position `first`.

        `segments` None, or a table of one row, puts all tokens into segment 0.
        """
        embedded: Tensor = self.tokens(tokens) + self.positions_from(first, tokens.shape[1])
        if self.segments is not None:
            one = segments is None or len(self.segments.weight) == 1
            embedded = embedded + (self.segments.weight[0] if one else self.segments(segments))
        if self.supersenses is not None:
            embedded = embedded + self.supersenses(tokens)
        return embedded if self.norm is None else self.norm(embedded)

    def read(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None,
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq embedding"]:
        """Return the embedded tokens of whole sequences; a subclass may read them together, without padding."""
        embedded: Tensor = self(tokens, segments)
        return embedded

    def positions_from(self, first: int, count: int) -> Float[Tensor, "seq embedding"] | float:
        """Return what is added to `count` tokens from position `first` on."""
        table: Tensor | float = self.positions(first + count)
        return table[first:] if first and isinstance(table, Tensor) else table


class QueryStart(nn.Module):
    """The vector that a query stream starts with, wherever it stands. XLNet, arXiv 1906.08237, section 2.3."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise like an embedding."""
        truncated_normal(self.weight, generator)

    def forward(self, rows: int, count: int) -> Float[Tensor, "batch predictions width"]:
        """Return the start of `count` queries in every row."""
        return self.weight.expand(rows, count, -1)


class Encoder(nn.Module):
    """An architecture as a module. `embeddings` of another encoder are shared with it."""

    def __init__(
        self,
        architecture: Architecture,
        dropout_rate: float,
        embeddings: Embeddings | None = None,
        activation_checkpointing: ActivationCheckpointing = "none",
    ) -> None:
        super().__init__()
        self.architecture, self.dropout_rate = architecture, dropout_rate
        self.embeddings = embeddings or Embeddings(architecture)
        widens = architecture.embedding_width != architecture.width
        self.projection = nn.Linear(architecture.embedding_width, architecture.width) if widens else None
        ordered = architecture.visibility == "permutation"
        self.query_start = QueryStart(architecture.width) if ordered else None
        self.blocks = nn.ModuleList(_blocks(architecture, dropout_rate))
        sharing = architecture.sharing != "none"
        self.activation_checkpointing = possible_mode(activation_checkpointing, self.blocks, sharing)
        norm = architecture.normalisation
        self.final_norm = norm_of(norm, architecture.width) if norm.has_final_norm else None

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.embeddings.tokens.weight.device

    def forward(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None = None,
        padding_mask: PaddingMask = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token; with a `padding_mask`, padding does not affect the other positions."""
        return self.read(tokens, segments, padding_mask, self._context(segments))

    def read(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None,
        padding_mask: PaddingMask,
        context: AttentionContext,
    ) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token, whose attention reads the context."""
        x = self.embedded(tokens, segments, padding_mask)
        for block in self.blocks:
            x = run_checkpointed(self.activation_checkpointing, block, x, padding_mask, context)
        return self.normed(x)

    def normed(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq width"]:
        """Return the output of the encoder from that of its last block."""
        return x if self.final_norm is None else to_autocast_dtype(norm_alone(x, self.final_norm))

    def embedded(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None,
        padding_mask: PaddingMask = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the input of the first block."""
        embedded = self.embeddings.read(tokens, segments, padding_mask)
        x = to_autocast_dtype(dropout(embedded, self.dropout_rate, self.training))
        return x if self.projection is None else self.projection(x)

    def _context(self, segments: Int[Tensor, "batch seq"] | None) -> AttentionContext:
        """Return what attention reads of the batch: segment 0 is the prefix; without segments there is none."""
        if self.architecture.visibility != "prefix" or segments is None:
            return AttentionContext(segments=segments)
        return AttentionContext(prefix=segments == 0, segments=segments)


def hidden_states(
    encoder: Encoder,
    tokens: Int[Tensor, "batch seq"],
    segments: Int[Tensor, "batch seq"] | None,
    padding_mask: PaddingMask,
) -> list[Float[Tensor, "batch seq width"]]:
    """Return the input of the first block and the output of every block; a frozen encoder's have no gradients."""
    states: list[Tensor] = []

    def record_input(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        states.append(inputs[0])

    def record_output(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        states.append(output)

    hooks = [encoder.blocks[0].register_forward_pre_hook(record_input)]
    hooks += [block.register_forward_hook(record_output) for block in encoder.blocks]
    try:
        encoder(tokens, segments, padding_mask)
    finally:
        for hook in hooks:
            hook.remove()
    return [x.clone() for x in states]


def _blocks(architecture: Architecture, dropout_rate: float) -> Iterator[Block]:
    """Yield the blocks; a sublayer of a shared kind is built in the first block that has one."""
    made = architecture.blocks
    kinds = shared_kinds(architecture.sharing, made)
    shared: dict[str, nn.Module] = {}
    for number, declaration in enumerate(made):
        block = Block(declaration, architecture.normalisation, dropout_rate, shared, first=not number)
        for kind in kinds.intersection(block.kinds).difference(shared):
            shared |= {name: block.get_submodule(name) for name in (kind, f"{kind}{NORM}")}
        yield block
