"""Adam with L2 regularisation. Kingma and Ba 2015, arXiv 1412.6980, algorithm 1."""

from typing import Literal

from search_space.optimiser.option import OptimiserOption


class Adam(OptimiserOption):
    """Adam with bias correction; the weight decay is added to the gradient (Transformer, GPT)."""

    kind: Literal["adam"] = "adam"
    """Chooses Adam; `recipe.weight_decay` is then L2 regularisation."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return "Adam with L2 regularisation"
