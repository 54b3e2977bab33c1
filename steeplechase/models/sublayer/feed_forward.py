"""The feed-forward network of a block, optionally grouped (ConvBERT, arXiv 2008.02496, eq. 8) or gated."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.sublayer.feed_forward import FeedForward
from steeplechase.models.activation import feed_forward_function
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext, Source
from steeplechase.models.continuation import Continuation, Positionwise, WithoutPast
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.norm import build_norm
from steeplechase.models.precision import to_autocast_dtype
from steeplechase.models.prepared_layers import PreparedLinear


class GroupedLinear(nn.Module):
    """A grouped linear map: a block-diagonal matrix over contiguous groups of channels, with a full bias or none."""

    def __init__(self, inputs: int, outputs: int, groups: int, biases: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(groups, inputs // groups, outputs // groups))
        self.bias = nn.Parameter(torch.empty(outputs)) if biases else None

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise like a dense linear map."""
        truncated_normal(self.weight, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "groups tokens inputs"]) -> Float[Tensor, "groups tokens outputs"]:
        """Return the mapped channels; inputs and outputs are those of one group."""
        if self.bias is None:
            return torch.bmm(x, self.weight)
        return torch.baddbmm(self.bias.view(len(self.weight), 1, -1), x, self.weight)


class Sublayer(Positionwise):
    """Up, activation, down; both maps have the same number of groups."""

    def __init__(self, declaration: FeedForward, dropout_rate: float) -> None:
        super().__init__()
        width, inner, groups = declaration.width, declaration.inner_width, declaration.groups
        self.groups = groups
        self.up = linear(width, declaration.up_width, groups, declaration.biases)
        self.activation = feed_forward_function(declaration.activation)
        self.middle_norm = build_norm(declaration.middle_norm, inner) if declaration.middle_norm else None
        self.down = linear(inner, width, groups, declaration.biases)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the transformed tokens; positions do not interact."""
        if self.groups == 1:
            return self._mapped(x)
        groups = x.flatten(0, 1).unflatten(-1, (self.groups, -1)).transpose(0, 1)
        return self._mapped(groups).transpose(0, 1).reshape(x.shape)

    def continuation(self, source: Source | None) -> Continuation:
        """Return the network, which keeps nothing."""
        return _Continued(self) if self.groups == 1 else super().continuation(source)

    def _mapped(self, x: Float[Tensor, "rows tokens inputs"]) -> Float[Tensor, "rows tokens outputs"]:
        inner = self.activation(self.up(x))
        mapped: Tensor = self.down(inner if self.middle_norm is None else self.middle_norm(inner))
        return mapped


class _Continued(WithoutPast):
    """A dense feed-forward network."""

    def __init__(self, layer: Sublayer) -> None:
        assert isinstance(layer.up, nn.Linear)
        assert isinstance(layer.down, nn.Linear)
        self._up, self._down = PreparedLinear(layer.up), PreparedLinear(layer.down)
        self._activation, self._middle_norm = layer.activation, layer.middle_norm

    def __call__(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows new width"]:
        inner = self._activation(self._up(x))
        return self._down(inner if self._middle_norm is None else to_autocast_dtype(self._middle_norm(inner)))


def linear(inputs: int, outputs: int, groups: int, biases: bool) -> nn.Module:
    """Return a dense map for one group, a grouped map otherwise."""
    return nn.Linear(inputs, outputs, biases) if groups == 1 else GroupedLinear(inputs, outputs, groups, biases)
