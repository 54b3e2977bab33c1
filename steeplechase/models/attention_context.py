"""What sublayers read of a batch beside their input: of attention, and of a decoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from steeplechase.models.convolution import PaddingMask


@dataclass(frozen=True)
class LayerMemory:
    """The inputs of one attention sublayer at the tokens before the segment. Transformer-XL, arXiv 1901.02860."""

    states: Float[Tensor, "batch memory width"]
    """Without a gradient."""
    valid: Bool[Tensor, "batch memory"]
    """False where a row has had fewer tokens since its stream began."""


@dataclass(frozen=True)
class PredictionOrder:
    """The order in which tokens of a batch are predicted, for two streams. XLNet, arXiv 1906.08237, section 2.3.

    The content stream has a vector per token, which reads the tokens up to its own rank. The query stream, which
    follows it along the sequence, has a vector per prediction, which reads the tokens below the rank of its own.
    """

    ranks: Int[Tensor, "batch seq"]
    """A predicted token has a rank of its own; tokens of the context share one, 0 or that of a later part of the row,
    and read each other. A row has tokens of rank 0."""
    positions: Int[Tensor, "batch predictions"]
    """Where the query stream stands; at a token of rank 0, which is not predicted, it reads those of rank 0."""
    real: Bool[Tensor, "batch seq"] | None = None
    """False at padding, which nothing reads; None: no padding."""

    @property
    def visible(self) -> Bool[Tensor, "batch queries seq"]:
        """Which tokens are read, by the content stream and then by the query stream."""
        read = self.ranks[:, None, :]
        asked = self.ranks.gather(1, self.positions).clamp(min=1)
        visible = torch.cat([self.ranks[:, :, None] >= read, asked[:, :, None] > read], 1)
        return visible if self.real is None else visible & self.real[:, None, :]


@dataclass(frozen=True)
class AttentionContext:
    """Fields are None where the architecture or the batch has nothing of the kind."""

    prefix: Bool[Tensor, "batch seq"] | None = None
    """The tokens that every token reads, with visibility `prefix`. UNILM: Dong et al. 2019, arXiv 1905.03197."""
    visible: Bool[Tensor, "batch seq seq"] | None = None
    """Where a query, the first of both places, reads a key, in place of the architecture's visibility."""
    memory: LayerMemory | None = None
    """What was before the segment, for this layer; every token reads all of it."""
    order: PredictionOrder | None = None
    """The order of prediction, with visibility `permutation` in pretraining."""
    segments: Int[Tensor, "batch seq"] | None = None
    """The segment of every token, for scores with segment encodings; None: one segment."""
    backwards: Bool[Tensor, " batch"] | None = None
    """The rows that read their text from its end, whose relative positions have the other sign; None: no row."""


NO_CONTEXT = AttentionContext()


@runtime_checkable
class ReadsContext(Protocol):
    """A sublayer that reads the source, or has sublayers of its own."""

    def read(self, x: Float[Tensor, "batch seq width"], context: "DecodingContext") -> Tensor:
        """Return the output [batch seq width]."""


@dataclass(frozen=True)
class Source:
    """The output of an encoder."""

    states: Float[Tensor, "batch source width"]
    padding_mask: PaddingMask = None
    """True for tokens; None: no padding."""

    def rows(self, rows: Int[Tensor, " rows"]) -> "Source":
        """Return some rows, in any order and any number of times."""
        mask = None if self.padding_mask is None else self.padding_mask[rows]
        return Source(self.states[rows], mask)


@dataclass(frozen=True)
class DecodingContext:
    """The context of one pass over a whole target; a `Continuation` reads it token by token."""

    source: Source | None = None
    padding_mask: PaddingMask = None
    """Of the target."""

    def reading(self, sublayer: nn.Module) -> Callable[[Tensor], Tensor]:
        """Return a sublayer as a function of its input alone."""
        return lambda x: self.read(sublayer, x)

    def read(self, sublayer: nn.Module, x: Float[Tensor, "batch seq width"]) -> Tensor:
        """Return the output of a sublayer [batch seq width]."""
        if isinstance(sublayer, ReadsContext):
            return sublayer.read(x, self)
        output: Tensor = sublayer(x, self.padding_mask)
        return output
