"""StableAdamW: AdamW whose rate falls where the gradient outgrows its moment. Wortsman et al. 2023, 2304.13013."""

from typing import Literal

from search_space.optimiser.option import OptimiserOption


class StableAdamW(OptimiserOption):
    """The rate of a parameter is divided by the root mean square of gradient over moment where that is above 1.

    Algorithm 2, the update clipping of AdaFactor. ModernBERT was pretrained with it (arXiv 2412.13663).
    """

    kind: Literal["stable_adamw"] = "stable_adamw"
    """Chooses StableAdamW, which needs no clipping of gradients."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return "StableAdamW"
