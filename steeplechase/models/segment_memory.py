"""Segment-level recurrence: attention reads the hidden states of earlier segments. Transformer-XL, arXiv 1901.02860.

With a query stream beside the content: XLNet, arXiv 1906.08237.

The memory of a block is its input at the tokens before the segment, without a gradient; blocks begin with attention.
A row whose segment does not continue the one before begins anew, with nothing in its memory.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout

from steeplechase.models.activation_checkpointing import run_checkpointed
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext, LayerMemory
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Encoder

ATTENTION = "attention"


@dataclass(frozen=True)
class SegmentMemory:
    """The inputs of all blocks with attention at the tokens before a segment, the last ones at the end."""

    states: Float[Tensor, "blocks batch memory width"]
    valid: Bool[Tensor, "batch memory"]
    """False where a row has had fewer tokens."""

    @classmethod
    def empty(cls, encoder: Encoder, rows: int, tokens: int) -> "SegmentMemory":
        """Return a memory of `tokens` places without a token."""
        states = torch.zeros(blocks_with_attention(encoder), rows, tokens, encoder.architecture.width)
        valid = torch.zeros(rows, tokens, dtype=torch.bool)
        return cls(states.to(encoder.device), valid.to(encoder.device))

    def after(self, inputs: Float[Tensor, "blocks batch seq width"]) -> "SegmentMemory":
        """Return the memory after a segment with these inputs, as long as before, without a gradient."""
        first = inputs.shape[2]  # as many of the earlier places are forgotten
        states = torch.cat([self.states, inputs.detach().to(self.states.dtype)], 2)[:, :, first:]
        new = torch.ones(len(self.valid), first, dtype=torch.bool, device=self.valid.device)
        return SegmentMemory(states, torch.cat([self.valid, new], 1)[:, first:])

    def of_rows(self, continued: Bool[Tensor, " batch"]) -> "SegmentMemory":
        """Return the memory with nothing in it for the rows that do not continue."""
        return SegmentMemory(self.states, self.valid & continued[:, None])


def blocks_with_attention(encoder: Encoder) -> int:
    """Return how many blocks have a memory."""
    return sum(ATTENTION in block.kinds for block in encoder.blocks)  # type: ignore[operator]


@dataclass(frozen=True)
class Streams:
    """The encoder's output for a segment, and what a memory keeps of it."""

    content: Float[Tensor, "batch seq width"]
    query: Float[Tensor, "batch predictions width"]
    """At the positions of the order of prediction; none without an order."""
    inputs: Float[Tensor, "blocks batch seq width"]
    """Of all blocks with attention, the content alone."""


def read_streams(
    encoder: Encoder,
    tokens: Int[Tensor, "batch seq"],
    context: AttentionContext = NO_CONTEXT,
    padding_mask: PaddingMask = None,
    memory: SegmentMemory | None = None,
) -> Streams:
    """Return the encoder's output for a segment after its memory; with an order of prediction, for both streams."""
    x, length = encoder.embedded(tokens, context.segments), tokens.shape[1]
    if context.order is not None and padding_mask is not None:
        context, padding_mask = replace(context, order=replace(context.order, real=padding_mask)), None
    if context.order is not None and context.order.positions.shape[1]:
        assert encoder.query_start is not None, "a query stream needs visibility permutation"
        start = encoder.query_start(*context.order.positions.shape).to(x.dtype)
        x = torch.cat([x, dropout(start, encoder.dropout_rate, encoder.training)], 1)
    inputs: list[Tensor] = []
    for block in encoder.blocks:
        own = context
        if ATTENTION in block.kinds:  # type: ignore[operator]
            if memory is not None and memory.valid.shape[1]:
                own = replace(context, memory=LayerMemory(memory.states[len(inputs)], memory.valid))
            inputs.append(x[:, :length])
        x = run_checkpointed(encoder.activation_checkpointing, block, x, padding_mask, own)
    x = encoder.normed(x)
    return Streams(x[:, :length], x[:, length:], torch.stack(inputs))


def read_segment(
    encoder: Encoder, tokens: Int[Tensor, "batch seq"], memory: SegmentMemory
) -> tuple[Float[Tensor, "batch seq width"], SegmentMemory]:
    """Return the encoder's output for a segment without padding, and the memory after it."""
    streams = read_streams(encoder, tokens, memory=memory)
    return streams.content, memory.after(streams.inputs)


class KeptMemory(nn.Module):
    """The memory of a training run between its updates: buffers, which checkpoints have."""

    def __init__(self, encoder: Encoder, rows: int) -> None:
        super().__init__()
        empty = SegmentMemory.empty(encoder, rows, encoder.architecture.memory)
        self.register_buffer("states", empty.states)
        self.register_buffer("valid", empty.valid)
        self.register_buffer("numbers", torch.full((rows,), -2))

    def before(self, numbers: Int[Tensor, " batch"]) -> SegmentMemory:
        """Return what was before the segments of these numbers: nothing in rows that do not continue the last."""
        return SegmentMemory(self._buffer("states"), self._buffer("valid")).of_rows(
            numbers == self._buffer("numbers") + 1
        )

    def keep(self, numbers: Int[Tensor, " batch"], memory: SegmentMemory) -> None:
        """Keep the memory after the segments of these numbers."""
        for name, value in (("states", memory.states), ("valid", memory.valid), ("numbers", numbers)):
            self._buffer(name).copy_(value)

    def _buffer(self, name: str) -> Tensor:
        return self.get_buffer(name)
