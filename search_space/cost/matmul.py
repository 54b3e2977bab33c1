"""Matrix products alone: a multiply-add is 2; lookups, biases, normalisations and activations are free.

The convention of scaling laws (Kaplan et al. 2020, arXiv 2001.08361, section 2.1) and of torch's FlopCounterMode,
plus the sliding windows of the convolutions, which are not matrix products.
"""

from search_space.cost.flop_convention import Convention
from search_space.cost.operation_counts import Operations

CONVENTION = Convention(
    name="matmul",
    rule="a multiply-add is 2; lookups, biases, normalisations and activations are 0; an update is 3 forward passes",
    prices=Operations(multiply_adds=2, products=1),
    training_passes=3,  # a backward pass costs two forward passes
)
