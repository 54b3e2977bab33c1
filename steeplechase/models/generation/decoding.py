"""A decoder under way: the probabilities of the next token, incrementally or by one pass over all tokens so far.

One interface serves the decoder of an encoder–decoder, a single stack that reads from left to right, and a stack that
was trained on [MASK]: a [MASK] behind the tokens so far is the next one, and the first tokens of a decoding are the
source, read in both directions (UNILM, Dong et al. 2019, arXiv 1905.03197).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from steeplechase.models.attention_context import AttentionContext, DecodingContext, Source
from steeplechase.models.block import Block
from steeplechase.models.continuation import Continuation
from steeplechase.models.encoder import Encoder
from steeplechase.models.encoder_decoder import Decoder, EncoderDecoder
from steeplechase.models.precision import to_autocast_dtype, to_float32
from steeplechase.models.sublayer.attention import Sublayer as SelfAttention
from steeplechase.models.visible_tokens import visible_tokens

Logits = Callable[[Tensor], Tensor]
"""From vectors [rows width] to logits [rows vocab]."""


class Reader(ABC):
    """What reads the tokens of a decoding."""

    @abstractmethod
    def read(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows width"]:
        """Append tokens; return the vector that predicts the one behind them."""

    @abstractmethod
    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows, as many as before: each has the past of the row that is named for it."""


class Decoding:
    """Rows of tokens that grow at their end, all by as many at a time."""

    def __init__(self, reader: Reader, logits: Logits) -> None:
        self._reader, self._logits = reader, logits

    def advance(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows vocab"]:
        """Append tokens; return the log-probabilities in nats of the one behind them, in float32."""
        return log_softmax(to_float32(self._logits(self._reader.read(tokens))), -1)

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows, as many as before: each is the one that is named for it, of the same source."""
        self._reader.reorder(rows)


class WholeReader(Reader):
    """All tokens so far are read again for each new one."""

    def __init__(self, states: Callable[[Tensor], Tensor]) -> None:
        self._states = states
        self._tokens: Tensor | None = None

    def read(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows width"]:
        """Append tokens; return the vector of the last one."""
        self._tokens = tokens if self._tokens is None else torch.cat([self._tokens, tokens], 1)
        return self._states(self._tokens)[:, -1]

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with the tokens of other rows."""
        assert self._tokens is not None
        self._tokens = self._tokens[rows]


class IncrementalReader(Reader):
    """New tokens are read alone; what the sublayers need of earlier ones is kept."""

    def __init__(
        self, stack: Encoder | Decoder, projection: nn.Module | None = None, source: Source | None = None
    ) -> None:
        self._stack, self._projection, self._source = stack, projection, source
        self._blocks: list[Continuation] | None = None
        self.length = 0

    def read(self, tokens: Int[Tensor, "rows new"]) -> Float[Tensor, "rows width"]:
        """Append tokens; return the vector of the last one."""
        return self.states(tokens)[:, -1]

    def states(
        self, tokens: Int[Tensor, "rows new"], segments: Int[Tensor, "rows new"] | None = None
    ) -> Float[Tensor, "rows new width"]:
        """Append tokens; return their vectors. The first call prepares weights and the source in its precision."""
        x = to_autocast_dtype(self._stack.embeddings(tokens, segments, self.length))
        x = x if self._projection is None else self._projection(x)
        if self._blocks is None:
            self._blocks = [_continuation(block, self._source) for block in self._stack.blocks]
        for block in self._blocks:
            x = block(x)
        self.length += tokens.shape[1]
        norm = self._stack.final_norm
        return x if norm is None else to_autocast_dtype(norm(x))

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with the caches of other rows; those of the source are equal within a sentence and stay."""
        for block in self._blocks or ():
            block.reorder(rows)

    def forget(self, count: int) -> None:
        """Continue as if the last `count` tokens had not been read."""
        self.length -= count
        for block in self._blocks or ():
            block.forget(count)


def target_decoding(model: EncoderDecoder, source: Source, beams: int = 1, *, cached: bool = True) -> Decoding:
    """Return the decoding of a target, with `beams` consecutive rows for each row of the source."""
    if beams > 1:
        rows = torch.arange(len(source.states), device=source.states.device).repeat_interleave(beams)
        source = source.rows(rows)
    if cached:
        return Decoding(IncrementalReader(model.decoder, None, without_padding(source)), model.logits)
    context = DecodingContext(source)
    return Decoding(WholeReader(lambda tokens: model.decoder(tokens, context)), model.logits)


def stack_decoding(encoder: Encoder, logits: Logits, *, cached: bool = True) -> Decoding:
    """Return the decoding of a single stack. Raises ValueError unless it reads from left to right."""
    visibility = encoder.architecture.visibility
    if visibility != "left_to_right":
        raise ValueError(f"a {visibility} stack cannot generate; visibility left_to_right is needed")
    return Decoding(IncrementalReader(encoder, encoder.projection) if cached else WholeReader(encoder), logits)


def without_padding(source: Source) -> Source:
    """Return a source whose mask is left out where nothing is padding, which is faster."""
    mask = source.padding_mask
    return replace(source, padding_mask=None) if mask is not None and bool(mask.all()) else source


def _continuation(block: nn.Module, source: Source | None) -> Continuation:
    assert isinstance(block, Block)
    return block.continuation(source)


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
