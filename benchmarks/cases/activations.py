"""What an encoder layer keeps for the backward pass, against transformers' ConvBERT in float32.

Counted in torch's allocator, which sees what no hook of autograd does. Per layer: the difference between two depths,
so that embeddings, the output and whatever else is kept once cancel out.
"""

from collections.abc import Iterator

import torch

from benchmarks.cases.encoder import PEER, agree, architecture, forwards, pair
from benchmarks.memory import allocations
from benchmarks.precision import named, need
from benchmarks.row import FULL_SIZE, Figure, Row, Size, exact_figure
from models.activation_checkpointing import ActivationCheckpointing

DEPTHS = (2, 4)
WAYS: tuple[tuple[ActivationCheckpointing, torch.dtype, float], ...] = (
    ("none", torch.float32, 1.0),
    ("selective", torch.float32, 0.50),
    ("selective", torch.bfloat16, 0.25),
    ("full", torch.float32, 0.10),
)


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per way of keeping activations."""
    for kept, precision, reach in WAYS:
        name = f"activations per layer, {kept} kept, {named(precision)}, h={size.widths[0]}"
        peer = f"{PEER}, float32"
        measure = lambda _, k=kept, p=precision: _measure(size, k, p)  # noqa: E731
        yield Row(name, peer, reach, measure, "lower", "our bytes / their bytes")


def _measure(size: Size, kept: ActivationCheckpointing, precision: torch.dtype) -> Figure:
    need(precision)
    shallow, deep = (_held(size, kept, precision, depth) for depth in DEPTHS)
    layers = DEPTHS[1] - DEPTHS[0]
    ours, theirs = ((more - less) / layers for less, more in zip(shallow, deep, strict=True))
    return exact_figure(ours, theirs, f"{ours / 1e6:.1f} against {theirs / 1e6:.1f} MB")


def _held(size: Size, kept: ActivationCheckpointing, precision: torch.dtype, depth: int) -> tuple[int, int]:
    """Return the bytes that our and their forward pass leave behind."""
    ours, theirs = pair(architecture(size, size.widths[0], depth), kept)
    agree(ours, theirs, size, precision)
    our_forward, _ = forwards(ours, theirs, size, precision)
    _, their_forward = forwards(ours, theirs, size, torch.float32)
    return allocations(our_forward).left, allocations(their_forward).left
