"""Modules of small architectures: the first attention, feed-forward network and block, and whole encoders."""

from typing import Any

import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.sublayer.attention import SelfAttention
from search_space.sublayer.feed_forward import FeedForward
from steeplechase.models.block import Block
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.sublayer import attention, feed_forward
from tests.factories.small_experiments import stir

SIZES: dict[str, Any] = {"depth": 1, "width": 16, "embedding_width": 16, "heads": 4, "vocabulary_size": 40}
"""Of `stirred_attention`."""


def attention_of(architecture: Architecture, dropout_rate: float) -> attention.Sublayer:
    """Return the attention of the first block."""
    declaration = architecture.blocks[0][0]
    assert isinstance(declaration, SelfAttention)
    return attention.Sublayer(declaration, dropout_rate)


def stirred_attention(dropout_rate: float = 0.0, **fields: Any) -> attention.Sublayer:
    """Return attention of width 16 in double precision with every parameter far from its initial value."""
    architecture = Architecture.model_validate({**SIZES, **fields})
    assert [*architecture.violations()] == []
    made = attention_of(architecture, dropout_rate)
    initialise(made, 1)
    stir(made)
    return made.double().eval()


def drawn_inputs(length: int, rows: int = 2) -> Tensor:
    """Return what `stirred_attention` reads [rows length 16]."""
    return torch.randn(rows, length, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def stirred_encoder(document: Architecture | dict[str, Any], seed: int = 3) -> Encoder:
    """Return an encoder in double precision with every parameter far from its initial value."""
    architecture = Architecture.model_validate(document)
    assert [*architecture.violations()] == []
    encoder = Encoder(architecture, 0.0).eval()
    initialise(encoder, seed)
    stir(encoder)
    return encoder.double()


def feed_forward_of(architecture: Architecture) -> feed_forward.Sublayer:
    """Return the feed-forward network of the first block."""
    declaration = architecture.blocks[0][1]
    assert isinstance(declaration, FeedForward)
    return feed_forward.Sublayer(declaration, 0.0)


def block_of(architecture: Architecture, dropout_rate: float) -> Block:
    """Return the first block."""
    return Block(architecture.blocks[0], architecture.normalisation, dropout_rate)
