"""What every option of positions offers."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from search_space.cost import Operations
from steeplechase.foundation.schema import OpenOption


@dataclass(frozen=True)
class ScoreSizes:
    """The sizes of an attention sublayer that positions in its scores depend on."""

    width: int
    heads: int
    keys: int
    """Channels of all keys of a token."""
    length: int
    """Tokens of a sequence."""
    read: int
    """Tokens that a query may read, a memory's included."""
    key_heads: int
    """Heads of keys, each read by as many heads of queries."""
    looks_ahead: bool
    """Whether a query reads tokens behind its own."""

    @property
    def distances(self) -> int:
        """Number of distances between a query and a token that it may read."""
        return self.read + self.length - 1 if self.looks_ahead else self.read


class PositionOption(OpenOption):
    """How a token's position enters the model."""

    package: ClassVar[str] = "search_space.position"
    modules: ClassVar[str] = "steeplechase.models.position"
    entry: ClassVar[str] = "build"

    in_attention: ClassVar[bool] = False
    """Whether attention scores depend on positions, and nothing is added to the embeddings."""

    @abstractmethod
    def rows(self, positions: int) -> int:
        """Return the rows of the table of learned positions."""

    @abstractmethod
    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens; None for any."""

    @property
    def reads_segments(self) -> bool:
        """Whether scores depend on the segments of their tokens."""
        return False

    def score_mistakes(self, head_width: int) -> Iterator[str]:
        """Yield why the scores of heads with so many channels of a key cannot have such positions."""
        yield from ()

    def score_parameters(self, sizes: ScoreSizes) -> int:
        """Return the parameters of an attention sublayer whose scores depend on positions."""
        return 0

    def sequence_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the operations that are done once for a sequence, by token."""
        return Operations()

    def query_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the operations of the position terms of one query."""
        return Operations()

    def saved_activations(self, sizes: ScoreSizes) -> int:
        """Return the values that are saved for the backward pass, by token."""
        return 0
