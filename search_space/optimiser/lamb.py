"""LAMB: AdamW with a trust ratio for each matrix. You et al. 2020, arXiv 1904.00962, algorithm 2."""

from typing import Literal

from search_space.optimiser.option import OptimiserOption


class Lamb(OptimiserOption):
    """Every matrix's update has a norm proportional to the matrix's own, for large batches (ALBERT)."""

    kind: Literal["lamb"] = "lamb"
    """Chooses LAMB; normalisations and biases have neither weight decay nor a trust ratio, as in its release."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return "LAMB"
