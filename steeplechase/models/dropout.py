"""Dropout of a block as a value, whose rate a kernel that draws by itself can read. Srivastava et al. 2014."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import dropout


@dataclass(frozen=True)
class Drop:
    """Dropout at a rate; at 0 nothing is drawn."""

    rate: float

    def __call__(self, x: Tensor) -> Tensor:
        """Return x with some elements 0 and the others larger."""
        return dropout(x, self.rate) if self.rate else x


NO_DROPOUT = Drop(0.0)
