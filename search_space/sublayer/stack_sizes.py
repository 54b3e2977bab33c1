"""The sizes of a stack, which its sublayers have where a layer program sets no others."""

from dataclasses import dataclass

from search_space.activation import Activation
from search_space.convolution import Convolution
from search_space.position.option import PositionOption
from search_space.visibility import Visibility


@dataclass(frozen=True)
class StackSizes:
    """The sizes that sublayers have where the program sets no others."""

    width: int
    heads: int
    """Before the bottleneck."""
    bottleneck_ratio: int
    key_width: int | None
    value_width: int | None
    convolution: Convolution
    visibility: Visibility
    feed_forward_width: int
    feed_forward_groups: int
    feed_forward_activation: Activation
    position: PositionOption
    attention_biases: bool
    memory: int
    source_width: int | None = None
    """Channels of what cross-attention reads; None for a stack that reads no other."""
