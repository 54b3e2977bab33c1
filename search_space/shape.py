"""Sizes of a sublayer, from which its costs follow in closed form."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AttentionShape:
    """Sizes of one mixed-attention sublayer after the bottleneck has been applied."""

    width: int
    """Width of the residual stream, in channels."""
    heads: int
    """Heads of each branch."""
    head_width: int
    """Channels per head."""

    @property
    def inner_width(self) -> int:
        """Width of the queries, keys and values, in channels."""
        return self.heads * self.head_width


def linear_parameters(inputs: int, outputs: int, groups: int = 1, *, biases: bool = True) -> int:
    """Return the parameters of a (grouped) linear map."""
    return inputs * outputs // groups + (outputs if biases else 0)
