"""Activation memory: the values of an encoder that training saves for the backward pass, in closed form.

Each component declares its saved values per token. Assumptions: fused attention, which saves no attention matrix,
where scores have no cap; one byte per element of a dropout mask, as in CUDA's kernel; no padding; no recomputation.
Heads, gradients and weights are excluded.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from search_space.architecture import Architecture
from search_space.cost import Component, Role

RULE = (
    "estimate: values saved for the backward pass, each once; fused attention (no map of token pairs, unless scores "
    "have a cap), one byte per element of a dropout mask, no recomputation; encoder only, without weights, gradients "
    "and heads"
)
VALUE_BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class ActivationMemory:
    """Bytes that training saves for the backward pass."""

    block: int
    total: int
    """All blocks, the embeddings and the norm or output layer behind them."""


def activation_memory(
    architecture: Architecture, length: int, sequences: int, value_bytes: int, dropout: float
) -> ActivationMemory:
    """Return the estimate for a batch of `sequences` sequences of `length` tokens."""

    def saved(parts: Iterable[Component]) -> int:
        values = sum(part.copies * _saved_values(part, dropout) for part in parts)
        masks = sum(part.copies * _dropout_elements(part) for part in parts) if dropout else 0
        return length * sequences * (value_bytes * values + masks)

    blocks = saved(architecture.block_parts(length))
    outside = saved((*architecture.embedding_parts(length), *architecture.final_parts()))
    return ActivationMemory(blocks // architecture.stacked_blocks, blocks + outside)


def _dropout_elements(part: Component) -> int:
    return part.stored_weights if part.role is Role.ATTENTION_SCORES else part.operations.dropped


def _saved_values(part: Component, dropout: float) -> int:
    """Return the saved values per token; with dropout stored weights of attention are saved before and after it."""
    return part.saved_activations + (part.stored_weights if dropout else 0)
