"""Decoding of a stack that was trained on [MASK]: a [MASK] behind the tokens so far is the next one.

UNILM, Dong et al. 2019, arXiv 1905.03197: the source is read in both directions, the target from left to right. The
first tokens of a decoding are the source.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from steeplechase.models.attention_context import AttentionContext
from steeplechase.models.block import Block
from steeplechase.models.encoder import Encoder
from steeplechase.models.generation.decoding import Decoding, IncrementalReader, Logits, Reader, WholeReader
from steeplechase.models.sublayer.attention import Sublayer as SelfAttention
from steeplechase.models.visible_tokens import visible_tokens


class _Segments:
    """The segments of a source and of the target behind it; None: the stack tells them not apart."""

    def __init__(self, numbers: tuple[int, int] | None) -> None:
        self._numbers = numbers

    def of(self, tokens: Int[Tensor, "rows seq"], first: int, source: int) -> Int[Tensor, "rows seq"] | None:
        """Return the segments of tokens from position `first` on."""
        if self._numbers is None:
            return None
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device).expand(len(tokens), -1)
        return torch.where(places < source, *self._numbers)


class _WholeCloze(WholeReader):
    """All tokens so far and a [MASK] behind them are read again for each new token."""

    def __init__(self, encoder: Encoder, mask: int, segments: _Segments) -> None:
        super().__init__(self._masked_states)
        self._encoder, self._mask, self._segments, self._source = encoder, mask, segments, 0

    def _masked_states(self, tokens: Int[Tensor, "rows seq"]) -> Float[Tensor, "rows masked width"]:
        self._source = self._source or tokens.shape[1]
        masked = _with_mask(tokens, self._mask)
        visible = visible_tokens(["prefix"] * len(tokens), masked.shape[1], self._source, tokens.device)
        segments = self._segments.of(masked, 0, self._source)
        return self._encoder.read(masked, segments, None, AttentionContext(visible=visible))


class _IncrementalCloze(Reader):
    """New tokens are read with the [MASK] behind them, which is forgotten afterwards."""

    def __init__(self, encoder: Encoder, mask: int, segments: _Segments) -> None:
        self._reader, self._mask, self._segments = IncrementalReader(encoder, encoder.projection), mask, segments
        self._source = 0

    def read(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows width"]:
        """Append tokens; return the vector of a [MASK] behind them. The first tokens are the source."""
        if not self._source:
            self._source = tokens.shape[1]
            self._reader.states(tokens, self._segments.of(tokens, 0, self._source))
            tokens = tokens[:, :0]
        masked = _with_mask(tokens, self._mask)
        states = self._reader.states(masked, self._segments.of(masked, self._reader.length, self._source))
        self._reader.forget(1)
        return states[:, -1]

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with the caches of other rows."""
        self._reader.reorder(rows)


def _with_mask(tokens: Int[Tensor, "rows seq"], mask: int) -> Int[Tensor, "rows masked"]:
    return torch.cat([tokens, tokens.new_full((len(tokens), 1), mask)], 1)


def cloze_decoding(
    encoder: Encoder, logits: Logits, mask: int, segments: tuple[int, int] | None = None, *, cached: bool = True
) -> Decoding:
    """Return the decoding of a stack whose first tokens, all of one length, are the source; `mask` is [MASK].

    `segments` are those of the source and of the target. Raises ValueError for a stack that has convolutions
    or recurrence, or reads one direction alone.
    """
    visibility = encoder.architecture.visibility
    if visibility not in ("bidirectional", "prefix"):
        raise ValueError(f"a {visibility} stack reads no source whole; visibility bidirectional is needed")
    attentions = [each for each in encoder.modules() if isinstance(each, SelfAttention)]
    plain = all(each.branch is None for each in attentions)
    kinds = {kind for block in encoder.blocks if isinstance(block, Block) for kind in block.kinds}
    if not plain or not kinds <= {"attention", "feed_forward", "gated_linear_unit"}:
        raise ValueError("a source and a target need attention alone: no convolution or recurrence")
    reader = _IncrementalCloze if cached else _WholeCloze
    return Decoding(reader(encoder, mask, _Segments(segments)), logits)
