"""Activation memory of an encoder layer, compared with transformers' ConvBERT in float32.

Measured in torch's allocator, which includes memory that autograd hooks miss. Per layer: the difference between two
depths, in which embeddings, output and other constants cancel.
"""

from collections.abc import Iterator

import torch

from benchmarks.cases.encoder import PEER, agree, architecture, forwards, pair
from benchmarks.measuring import FULL_SIZE, Figure, Row, Size, allocations, exact_figure, named, need
from steeplechase.models.activation_checkpointing import ActivationCheckpointing

DEPTHS = (2, 4)
MODES: tuple[tuple[ActivationCheckpointing, torch.dtype, float], ...] = (
    ("none", torch.float32, 1.0),
    ("selective", torch.float32, 0.50),
    ("selective", torch.bfloat16, 0.25),
    ("full", torch.float32, 0.10),
)


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per mode of activation checkpointing and precision."""
    for mode, precision, reach in MODES:
        name = f"activations per layer, {mode} kept, {named(precision)}, h={size.widths[0]}"
        peer = f"{PEER}, float32"
        measure = lambda _, k=mode, p=precision: _measure(size, k, p)  # noqa: E731
        yield Row(name, peer, reach, measure, "lower", "our bytes / their bytes")


def _measure(size: Size, mode: ActivationCheckpointing, precision: torch.dtype) -> Figure:
    need(precision)
    shallow, deep = (_retained(size, mode, precision, depth) for depth in DEPTHS)
    layers = DEPTHS[1] - DEPTHS[0]
    ours, theirs = ((more - less) / layers for less, more in zip(shallow, deep, strict=True))
    return exact_figure(ours, theirs, f"{ours / 1e6:.1f} against {theirs / 1e6:.1f} MB")


def _retained(size: Size, mode: ActivationCheckpointing, precision: torch.dtype, depth: int) -> tuple[int, int]:
    """Return the bytes that our and their forward pass retain."""
    ours, theirs = pair(architecture(size, size.widths[0], depth), mode)
    agree(ours, theirs, size, precision)
    our_forward, _ = forwards(ours, theirs, size, precision)
    _, their_forward = forwards(ours, theirs, size, torch.float32)
    return allocations(our_forward).left, allocations(their_forward).left
