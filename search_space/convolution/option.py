"""An option of the convolution axis: its window over the tokens, and its costs in closed form."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape
from steeplechase.foundation.schema import OpenOption


@dataclass(frozen=True)
class Reach:
    """The tokens on each side that an output position depends on."""

    look_back: int
    look_ahead: int

    @property
    def tokens(self) -> int:
        """Tokens of the window, the own one included."""
        return self.look_back + 1 + self.look_ahead


class ConvolutionOption(OpenOption):
    """Base class of the options: each is a file of this folder and of `models/convolution/`."""

    package: ClassVar[str] = "search_space.convolution"
    modules: ClassVar[str] = "steeplechase.models.convolution"
    entry: ClassVar[str] = "Branch"
    sized_by: ClassVar[str | None] = None
    """The field that sets the reach, where a reach beyond the sequence is reported; None: the option as a whole."""

    departure: ClassVar[str] = ""
    """How it differs from the mode of its name in ConvBERT; empty where it does not."""
    brief_departure: ClassVar[str] = ""
    """The same in a few words, for a cell of a table."""

    @property
    @abstractmethod
    def branch_width_ratio(self) -> int:
        """Inner widths that the branch adds to the concatenation before the output map: 0 without a branch."""

    @property
    @abstractmethod
    def reach(self) -> Reach | None:
        """The window of one layer; None without a window."""

    @abstractmethod
    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the branch, the output map excluded."""

    @abstractmethod
    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""

    @abstractmethod
    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves for the backward pass."""

    def elementwise_flops(self, shape: AttentionShape) -> int | None:
        """Return the FLOPs per token outside matrix products, which torch's FLOP counter omits; None: not declared.

        Where it is declared, the option contracts compare the operations with the counter exactly.
        """
        return None
