"""What every option of positions offers."""

from abc import abstractmethod
from typing import ClassVar

from foundation.schema import OpenOption


class PositionOption(OpenOption):
    """How a token's position enters the model."""

    package: ClassVar[str] = "search_space.position"
    modules: ClassVar[str] = "models.position"

    in_attention: ClassVar[bool] = False
    """Whether attention scores depend on positions, and nothing is added to the embeddings."""

    @abstractmethod
    def rows(self, positions: int) -> int:
        """Return the rows of the table of learned positions."""

    @abstractmethod
    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens; None for any."""
