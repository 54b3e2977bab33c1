"""Stochastic gradient descent with momentum. Sutskever et al. 2013, section 2, without Nesterov's correction."""

from typing import ClassVar, Literal

from pydantic import Field

from search_space.optimiser.option import OptimiserOption


class Sgd(OptimiserOption):
    """Gradient descent with momentum; the weight decay is added to the gradient (arXiv 2002.04745, Pre-LN)."""

    adaptive: ClassVar[bool] = False
    kind: Literal["sgd"] = "sgd"
    """Chooses SGD; `recipe.weight_decay` is then L2 regularisation."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Share of the last update's direction that is kept; 0 is plain gradient descent."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return f"SGD with momentum {self.momentum:g}"
