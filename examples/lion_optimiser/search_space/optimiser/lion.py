"""Lion: the sign of a momentum as the update. Chen et al. 2023, Symbolic Discovery, arXiv 2302.06675, Algorithm 2."""

from typing import ClassVar, Literal

from pydantic import Field

from search_space.optimiser.option import OptimiserOption


class Lion(OptimiserOption):
    """Every weight moves by the learning rate, in the direction of a mixture of momentum and gradient."""

    adaptive: ClassVar[bool] = False
    kind: Literal["lion"] = "lion"
    """Chooses Lion; its learning rate is 3 to 10 times smaller than AdamW's."""
    mixed: float = Field(default=0.9, ge=0, lt=1)
    """Share of the momentum in the update's direction, beta 1."""
    kept: float = Field(default=0.99, ge=0, lt=1)
    """Share of the momentum that is kept, beta 2."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return f"Lion {self.mixed:g}, {self.kept:g}"
