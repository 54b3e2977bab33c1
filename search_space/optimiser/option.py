"""What every optimiser declares."""

from typing import ClassVar

from steeplechase.foundation.schema import OpenOption


class OptimiserOption(OpenOption):
    """The rule of an update, with the parameters that it alone has."""

    package: ClassVar[str] = "search_space.optimiser"
    modules: ClassVar[str] = "runners.training.optimisers"
    entry: ClassVar[str] = "build"

    adaptive: ClassVar[bool] = True
    """Whether it has the moments of `recipe.adam_beta1`, `adam_beta2` and `adam_epsilon`."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe, with its own parameters."""
        return self.kind
