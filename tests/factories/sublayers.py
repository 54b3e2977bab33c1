"""The first attention, feed-forward network and block of an architecture, as modules."""

from search_space.architecture import Architecture
from search_space.sublayer.attention import SelfAttention
from search_space.sublayer.feed_forward import FeedForward
from steeplechase.models.block import Block
from steeplechase.models.sublayer import attention, feed_forward


def attention_of(architecture: Architecture, dropout_rate: float) -> attention.Sublayer:
    """Return the attention of the first block."""
    declaration = architecture.blocks[0][0]
    assert isinstance(declaration, SelfAttention)
    return attention.Sublayer(declaration, dropout_rate)


def feed_forward_of(architecture: Architecture) -> feed_forward.Sublayer:
    """Return the feed-forward network of the first block."""
    declaration = architecture.blocks[0][1]
    assert isinstance(declaration, FeedForward)
    return feed_forward.Sublayer(declaration, 0.0)


def block_of(architecture: Architecture, dropout_rate: float) -> Block:
    """Return the first block."""
    return Block(architecture.blocks[0], architecture.normalisation, dropout_rate)
