"""What comparisons of models share: a relative difference, weights changed in turn, dependence on each token."""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor, nn

from steeplechase.models.encoder import Encoder
from tests.factories.updates import unchecked_shapes

LARGEST = {torch.float64: 1e-10, torch.float32: 1e-5}
"""Of `distance`, by precision."""


def distance(found: Tensor, expected: Tensor) -> float:
    """Return the largest difference, relative to the largest value expected where that is above 1."""
    assert found.shape == expected.shape
    return float((found - expected).abs().max() / max(1.0, float(expected.abs().max())))


def nudged(parameters: Iterable[tuple[str, nn.Parameter]], by: float = 1e-3) -> Iterator[str]:
    """Yield the name of each parameter while all of its values are moved, up or down; no shape is checked."""
    generator = torch.Generator().manual_seed(3)
    with unchecked_shapes():
        for name, parameter in parameters:
            kept = parameter.detach().clone()
            parameter.data.add_(torch.randn(parameter.shape, generator=generator).sign(), alpha=by)
            yield name
            parameter.data.copy_(kept)


def dependence(encoder: Encoder, outputs: Callable[[], Tensor]) -> Tensor:
    """Return the size of every gradient of an output by the embedding of a token [rows outputs inputs]."""
    embedded: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[-1]

    hook = encoder.embeddings.tokens.register_forward_hook(keep)
    out = outputs()
    hook.remove()
    weights = torch.randn(out.shape[-1], generator=torch.Generator().manual_seed(5), dtype=out.dtype)
    found = [
        torch.autograd.grad((out[:, place] * weights).sum(), embedded[0], retain_graph=True)[0].abs().sum(-1)
        for place in range(out.shape[1])
    ]
    return torch.stack(found, 1)
