"""ELECTRA's convention (Clark et al. 2020, arXiv 2003.10555): its flops_computation.py, miscounts included.

The training FLOPs in the papers of ELECTRA and ConvBERT follow it.
"""

from fractions import Fraction

from search_space.cost.component import Component, Role
from search_space.cost.flop_convention import Convention
from search_space.cost.operation_counts import Operations

PRICES = Operations(
    multiply_adds=2,
    products=1,
    scalings=1,
    additions=1,
    lookups=2,  # dense: a product with a one-hot vector
    normalised=5,
    gelus=8,
    sigmoids=4,  # not in the script; counted like its softmax: negation, exponential, sum, quotient
    softmaxed=5,
    dropped=4,
)


def miscount(part: Component, length: int) -> int:
    """Return the FLOPs per token that the script counts in excess, or misses (negative); small at γ = 1."""
    if part.role is not Role.ATTENTION_SCORES:
        return 0
    # the weighted average of the values is charged at the block's width, attention's norm for one channel
    average = PRICES.multiply_adds * length * (part.shape.width - part.shape.inner_width)
    return average - PRICES.normalised * (part.shape.width - 1)


CONVENTION = Convention(
    name="electra",
    rule="ELECTRA's flops_computation.py: dense lookups and activations count; an update is 2 forward passes",
    prices=PRICES,
    training_passes=2,  # the script counts a backward pass as one forward pass
    predicted_share=Fraction(5, 32),  # 20 of 128
    miscount=miscount,
)
