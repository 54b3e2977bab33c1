"""Sinusoidal position encodings. Vaswani et al. 2017, arXiv 1706.03762, section 3.5."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.position import SinusoidalPositions

LONGEST_WAVELENGTH = 10_000.0


class Positions(nn.Module):
    """Channel 2i is the sine and channel 2i + 1 the cosine of position / 10000^(2i / width)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        pairs = torch.arange(0, width, 2, dtype=torch.float64)
        rates = torch.exp(pairs * (-math.log(LONGEST_WAVELENGTH) / width))
        self.register_buffer("rates", rates.float(), persistent=False)
        self.width = width

    def forward(self, length: int) -> Float[Tensor, "seq width"]:
        """Return the encodings of the first `length` positions."""
        assert isinstance(self.rates, Tensor)
        angles = torch.arange(length, device=self.rates.device)[:, None] * self.rates
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, : self.width]


def build(option: SinusoidalPositions, positions: int, width: int) -> nn.Module:
    """Return the encodings, which have no parameters."""
    return Positions(width)
