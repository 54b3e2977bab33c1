"""A convolution branch with what attention hands it, and the kernels that it slides, read from its derivatives."""

import torch
from torch import Tensor, nn

from search_space.convolution import Convolution
from search_space.convolution.kernel import WithKernel
from search_space.shape import AttentionShape
from steeplechase.models.convolution import PaddingMask, build_branch
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import stir


class Beside(nn.Module):
    """A branch that is handed values from its own map, or from one that stands for attention's where it has none."""

    def __init__(self, convolution: Convolution, shape: AttentionShape) -> None:
        super().__init__()
        branch = build_branch(convolution, shape)
        assert branch is not None
        assert isinstance(convolution, WithKernel)
        self.branch, self.heads, self.kernel_size = branch, shape.heads, convolution.kernel_size
        self.values = branch.value or nn.Linear(shape.width, shape.inner_width)

    def forward(self, x: Tensor, query: Tensor, padding_mask: PaddingMask = None) -> Tensor:
        """Return what the branch adds beside attention; shape [batch seq inner]."""
        added: Tensor = self.branch(x, query, self.values(x), padding_mask)
        return added

    def kernels(self, x: Tensor, query: Tensor) -> Tensor:
        """Return d out[t] / d value[t + offset] for the first channel of each head; shape [batch seq heads kernel].

        That is the kernel, but for the own token's tap, which is left at zero: there the value may have made the
        kernel too. Taps outside the sequence are zero.
        """
        values = self.values(x).detach().requires_grad_()
        out = self.branch(x, query, values, None).unflatten(-1, (self.heads, -1))[..., 0]
        found = torch.zeros(*out.shape, self.kernel_size, dtype=out.dtype)
        for place in range(out.shape[1]):
            for head in range(self.heads):
                (slope,) = torch.autograd.grad(out[:, place, head].sum(), values, retain_graph=True)
                by_head = slope.unflatten(-1, (self.heads, -1))[:, :, head, 0]
                for tap in range(self.kernel_size):
                    source = place + tap - self.kernel_size // 2
                    if 0 <= source < out.shape[1] and source != place:
                        found[:, place, head, tap] = by_head[:, source]
        return found


def beside(convolution: Convolution, shape: AttentionShape) -> Beside:
    """Return a branch in double precision whose every parameter is seen in its output."""
    module = Beside(convolution, shape)
    initialise(module, 1)
    stir(module)
    return module.double().eval()
