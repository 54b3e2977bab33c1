"""Layers of a module that decodes: the same arithmetic with weights that are joined and cast beforehand.

A step of incremental decoding has few rows, so that the time between matrix products counts.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from steeplechase.models.precision import to_autocast_dtype


class PreparedLinear:
    """Linear maps of one input as one map."""

    def __init__(self, *maps: nn.Linear) -> None:
        biases = [each.bias for each in maps if each.bias is not None]
        self._weight = to_autocast_dtype(_joined([each.weight for each in maps]))
        self._bias = to_autocast_dtype(_joined(biases)) if biases else None

    def __call__(self, x: Float[Tensor, "rows seq inputs"]) -> Float[Tensor, "rows seq outputs"]:
        """Return the mapped vectors."""
        return linear(x, self._weight, self._bias)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))
