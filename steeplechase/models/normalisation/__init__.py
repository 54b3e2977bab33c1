"""How a sublayer, its norm and its residual are connected: one file per option of `search_space.normalisation`.

Each file has `connect`, from the input [batch seq width], the sublayer, its norm and its dropout to the output.
"""

from collections.abc import Callable

from torch import Tensor

Map = Callable[[Tensor], Tensor]
Connect = Callable[[Tensor, Map, Map, Map], Tensor]
