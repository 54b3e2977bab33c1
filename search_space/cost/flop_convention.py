"""The FLOP conventions: the FLOPs of each kind of operation, and the forward passes that an update costs."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from search_space.cost.component import Component, Role
from search_space.cost.operation_counts import Operations


class KnownMiscount(Protocol):
    """Correction that reproduces a known miscount of a published FLOP script, per token and copy of a component."""

    def __call__(self, part: Component, length: int) -> int:
        """Return the FLOPs counted in excess; negative for FLOPs that the script misses."""


def no_miscount(part: Component, length: int) -> int:
    """Return 0: the convention counts exactly."""
    return 0


@dataclass(frozen=True)
class Convention:
    """A named FLOP convention."""

    name: str
    rule: str
    """One line, for the footnote of a table."""
    prices: Operations
    training_passes: int
    """Forward passes that one update costs, the forward one included."""
    predicted_share: Fraction | None = None
    """Share of the tokens that enter the output softmax; None: the positions that the objective predicts."""
    miscount: KnownMiscount = no_miscount

    def part_flops(self, part: Component, length: int, predictions: int = 0) -> int:
        """Return the FLOPs of all copies of a component on one sequence of `length` tokens."""
        once = part.operations.priced(self.prices) + self.miscount(part, length)
        if part.applied_to != "prediction":
            return part.copies * once * (length if part.applied_to == "token" else 1)
        predicted = predictions if self.predicted_share is None else self.predicted_share * length
        return int(part.copies * predicted * once)

    def flops(self, parts: Iterable[Component], length: int, predictions: int = 0) -> int:
        """Return the FLOPs of one forward pass over one sequence of `length` tokens."""
        return sum(self.part_flops(part, length, predictions) for part in parts)


MATMUL = Convention(
    name="matmul",
    rule="a multiply-add is 2; lookups, biases, normalisations and activations are 0; an update is 3 forward passes",
    prices=Operations(multiply_adds=2, products=1),
    training_passes=3,  # a backward pass costs two forward passes
)
"""Matrix products alone: lookups, biases, normalisations and activations are free.

The convention of scaling laws (Kaplan et al. 2020, arXiv 2001.08361, section 2.1) and of torch's FlopCounterMode,
plus the sliding windows of the convolutions, which are not matrix products.
"""


PRICES_OF_ELECTRA = Operations(
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


def miscount_of_electra(part: Component, length: int) -> int:
    """Return the FLOPs per token that the script counts in excess, or misses (negative); small at γ = 1."""
    if part.role is not Role.ATTENTION_SCORES:
        return 0
    # the weighted average of the values is charged at the block's width, attention's norm for one channel
    average = PRICES_OF_ELECTRA.multiply_adds * length * (part.shape.width - part.shape.inner_width)
    return average - PRICES_OF_ELECTRA.normalised * (part.shape.width - 1)


ELECTRA = Convention(
    name="electra",
    rule="ELECTRA's flops_computation.py: dense lookups and activations count; an update is 2 forward passes",
    prices=PRICES_OF_ELECTRA,
    training_passes=2,  # the script counts a backward pass as one forward pass
    predicted_share=Fraction(5, 32),  # 20 of 128
    miscount=miscount_of_electra,
)
"""That of the training FLOPs in the papers of ELECTRA (Clark et al. 2020, arXiv 2003.10555) and ConvBERT."""


ELECTRA_CORRECTED = replace(
    ELECTRA,
    name="electra_corrected",
    rule="as electra, with the weighted average at its own width and both normalisations whole",
    miscount=no_miscount,
)
"""ELECTRA's convention without the two miscounts of its script."""

CONVENTIONS = {each.name: each for each in (MATMUL, ELECTRA, ELECTRA_CORRECTED)}
