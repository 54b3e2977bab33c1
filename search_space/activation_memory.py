"""What training keeps of an encoder for the backward pass: an estimate in closed form.

Each part says how many values it keeps of a token; attention is fused and keeps no map of token pairs; a dropout
keeps one byte per element, as CUDA's kernel does; no sequence is padded; nothing is recomputed. Heads, gradients and
weights are not in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from search_space.architecture import Architecture
from search_space.cost import Component, Role

RULE = (
    "estimate: what each part needs again in the backward pass, kept once; fused attention (no map of token pairs), "
    "one byte per dropped-out element, nothing recomputed; encoder alone, without weights, gradients and heads"
)
VALUE_BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class ActivationMemory:
    """Bytes that training keeps for the backward pass."""

    block: int
    total: int
    """All blocks and the embeddings."""


def activation_memory(
    architecture: Architecture, length: int, sequences: int, value_bytes: int, dropout: float
) -> ActivationMemory:
    """Return the estimate for a batch of `sequences` of `length` tokens."""

    def kept(parts: Iterable[Component]) -> int:
        values = sum(part.copies * part.saved_activations for part in parts)
        masks = sum(part.copies * _masked(part) for part in parts) if dropout else 0
        return length * sequences * (value_bytes * values + masks)

    blocks = kept(architecture.block_parts(length))
    return ActivationMemory(blocks // architecture.depth, blocks + kept(architecture.embedding_parts(length)))


def _masked(part: Component) -> int:
    return 0 if part.role is Role.ATTENTION_SCORES else part.operations.dropped
