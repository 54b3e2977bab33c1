"""The encoder: embeddings, then post-norm blocks. Devlin et al. 2018; embeddings factorised as in ELECTRA-Small."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout

from models.activation_checkpointing import ActivationCheckpointing, run_checkpointed
from models.attention import MixedAttention
from models.convolution import PaddingMask
from models.feed_forward import FeedForward
from models.precision import to_autocast_dtype
from search_space.architecture import Architecture

NORM_EPSILON = 1e-12  # BERT's release


class Embeddings(nn.Module):
    """Sum of token, position and segment embeddings, then layer norm; a generator shares the encoder's."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        width = architecture.embedding_width
        self.tokens = nn.Embedding(architecture.vocabulary_size, width)
        self.positions = nn.Embedding(architecture.positions, width)
        self.segments = nn.Embedding(architecture.segments, width)
        self.norm = nn.LayerNorm(width, eps=NORM_EPSILON)

    def forward(
        self, tokens: Int[Tensor, "batch seq"], segments: Int[Tensor, "batch seq"] | None
    ) -> Float[Tensor, "batch seq embedding"]:
        """Return the embedded tokens; `segments` None puts all tokens into segment 0."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        segment = self.segments.weight[0] if segments is None else self.segments(segments)
        normalised: Tensor = self.norm(self.tokens(tokens) + self.positions(positions) + segment)
        return normalised


class Block(nn.Module):
    """Post-norm block: mixed attention, then the feed-forward network, each with a residual and a layer norm."""

    def __init__(self, architecture: Architecture, dropout_rate: float) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self.attention = MixedAttention(architecture, dropout_rate)
        self.attention_norm = nn.LayerNorm(architecture.width, eps=NORM_EPSILON)
        self.feed_forward = FeedForward(architecture)
        self.feed_forward_norm = nn.LayerNorm(architecture.width, eps=NORM_EPSILON)

    def forward(
        self, x: Float[Tensor, "batch seq width"], padding_mask: PaddingMask
    ) -> Float[Tensor, "batch seq width"]:
        """Return the block's output."""
        mixed = dropout(self.attention(x, padding_mask), self.dropout_rate, self.training)
        x = to_autocast_dtype(self.attention_norm(x + mixed))
        transformed = dropout(self.feed_forward(x), self.dropout_rate, self.training)
        return to_autocast_dtype(self.feed_forward_norm(x + transformed))


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
        self.activation_checkpointing: ActivationCheckpointing = activation_checkpointing
        self.embeddings = embeddings or Embeddings(architecture)
        widens = architecture.embedding_width != architecture.width
        self.projection = nn.Linear(architecture.embedding_width, architecture.width) if widens else None
        self.blocks = nn.ModuleList(Block(architecture, dropout_rate) for _ in range(architecture.depth))

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
        x = to_autocast_dtype(dropout(self.embeddings(tokens, segments), self.dropout_rate, self.training))
        if self.projection is not None:
            x = self.projection(x)
        for block in self.blocks:
            x = run_checkpointed(self.activation_checkpointing, block, x, padding_mask)
        return x
