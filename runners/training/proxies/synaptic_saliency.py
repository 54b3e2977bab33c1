"""Synaptic saliency: how much the loss changes when a weight is removed, to first order, summed over the weights.

SNIP: Lee et al. 2019, arXiv 1810.02340, eq. 4, whose absolute value of loss gradient times weight Abdelfattah et al.
2021, arXiv 2101.08134, section 3.1, sum over a model.
"""

from collections.abc import Iterable

from torch.nn import Parameter


def proxy(parameters: Iterable[Parameter]) -> float:
    """Return the sum of |dL/dw * w| over all weights w."""
    pairs = ((parameter.detach(), parameter.grad) for parameter in parameters)
    return float(sum((weight * gradient).abs().sum().item() for weight, gradient in pairs if gradient is not None))
