"""A chain of operations inside one residual. Evolved Transformer, arXiv 1901.11117, Figure 3."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import conv1d, pad

from search_space.layer_program import OperationKind
from search_space.sublayer.operation_chain import Branches, OperationChain, Step
from search_space.visibility import VISIBLE_SIDE, Visibility
from steeplechase.models.activation import activation_function
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.convolution.separable import DepthwiseKernel, without_padding
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.norm import build_norm


class DenseConvolution(nn.Module):
    """A convolution over tokens with a full matrix per tap."""

    def __init__(self, step: Step, shift: int) -> None:
        super().__init__()
        inputs, outputs, kernel_size = step.inputs, step.outputs, step.kernel_size
        half = kernel_size // 2
        self.before, self.after = half + shift, half - shift
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel_size))
        self.bias = nn.Parameter(torch.empty(outputs))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise like a dense linear map."""
        truncated_normal(self.weight, generator)
        nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "batch seq inputs"]) -> Float[Tensor, "batch seq outputs"]:
        """Return the convolved tokens; a tap outside the sequence reads zero."""
        around = pad(x.transpose(1, 2), (self.before, self.after))
        return conv1d(around, self.weight, self.bias).transpose(1, 2)


class StepModule(nn.Module):
    """One operation of a chain."""

    def __init__(self, step: Step, visibility: Visibility) -> None:
        super().__init__()
        half = step.kernel_size // 2
        shift = {"both": 0, "before": half, "behind": -half}[VISIBLE_SIDE[visibility]]
        self.depthwise = (
            DepthwiseKernel(step.kernel_size, step.inputs, shift) if step.kind is OperationKind.SEPARABLE else None
        )
        self.map = _map(step, shift)
        self.activation = None if step.activation is None else activation_function(step.activation)

    def forward(
        self, x: Float[Tensor, "batch seq inputs"], padding_mask: PaddingMask
    ) -> Float[Tensor, "batch seq outputs"]:
        """Return the operation's output."""
        if self.depthwise is not None or isinstance(self.map, DenseConvolution):
            x = without_padding(x, padding_mask)
        x = x if self.depthwise is None else self.depthwise(x)
        mapped: Tensor = self.map(x)
        return mapped if self.activation is None else self.activation(mapped)


class BranchesModule(nn.Module):
    """Two operations on the same input, added; the narrower output is padded with zeros."""

    def __init__(self, branches: Branches, visibility: Visibility) -> None:
        super().__init__()
        self.first, self.second = StepModule(branches.first, visibility), StepModule(branches.second, visibility)
        self.outputs = branches.outputs

    def forward(
        self, x: Float[Tensor, "batch seq inputs"], padding_mask: PaddingMask
    ) -> Float[Tensor, "batch seq outputs"]:
        """Return the sum of both branches, widened to the outputs' channels."""
        return widened(self.first(x, padding_mask), self.outputs) + widened(
            self.second(x, padding_mask), self.outputs
        )


class Sublayer(nn.Module):
    """Operations one after the other; an output narrower than the width is padded with zeros."""

    def __init__(self, declaration: OperationChain, dropout_rate: float) -> None:
        super().__init__()
        self.width = declaration.width
        self.steps = nn.ModuleList(
            (BranchesModule if isinstance(step, Branches) else StepModule)(step, declaration.visibility)  # type: ignore[arg-type]
            for step in declaration.steps
        )

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the chain's output; the content of padding reaches no other position."""
        for step in self.steps:
            x = step(x, padding_mask)
        return widened(x, self.width)


def widened(x: Float[Tensor, "batch seq narrow"], width: int) -> Float[Tensor, "batch seq wide"]:
    """Return the tokens with zeros in the channels that are missing."""
    return x if x.shape[-1] == width else pad(x, (0, width - x.shape[-1]))


def _map(step: Step, shift: int) -> nn.Module:
    if step.norm is not None:
        return build_norm(step.norm, step.inputs)
    if step.kind is OperationKind.CONVOLUTION:
        return DenseConvolution(step, shift)
    return nn.Linear(step.inputs, step.outputs)
