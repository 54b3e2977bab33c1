"""Layers of a module that decodes: the same arithmetic with weights that are joined, cast and transposed beforehand.

A step of incremental decoding has few rows, so that the time between matrix products counts.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from models.precision import to_autocast_dtype


class PreparedLinear:
    """Linear maps of one input as one map."""

    def __init__(self, *maps: nn.Linear) -> None:
        biases = [each.bias for each in maps if each.bias is not None]
        self._weight = to_autocast_dtype(_joined([each.weight for each in maps])).t()
        self._bias = to_autocast_dtype(_joined(biases)) if biases else None

    def __call__(self, x: Float[Tensor, "rows seq inputs"]) -> Float[Tensor, "rows seq outputs"]:
        """Return the mapped vectors."""
        rows, seq, inputs = x.shape
        return self.of_tokens(x.reshape(rows * seq, inputs)).view(rows, seq, -1)

    def of_tokens(self, x: Float[Tensor, "tokens inputs"]) -> Float[Tensor, "tokens outputs"]:
        """Return the mapped vectors of a flat sequence."""
        return x @ self._weight if self._bias is None else torch.addmm(self._bias, x, self._weight)


class PreparedNorm:
    """A layer norm."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self._shape, self._weight, self._bias, self._epsilon = norm.normalized_shape, norm.weight, norm.bias, norm.eps

    def __call__(self, x: Float[Tensor, "rows seq width"]) -> Float[Tensor, "rows seq width"]:
        """Return the normalised vectors."""
        return torch.layer_norm(x, self._shape, self._weight, self._bias, self._epsilon, False)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))
