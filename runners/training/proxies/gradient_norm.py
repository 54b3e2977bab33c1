"""Sum of the Euclidean norms of all gradients. Abdelfattah et al. 2021, arXiv 2101.08134, section 3.1."""

from collections.abc import Iterable

from torch.nn import Parameter


def proxy(parameters: Iterable[Parameter]) -> float:
    """Return the sum of ||dL/dw|| over the tensors w of parameters."""
    gradients = (parameter.grad for parameter in parameters)
    return float(sum(gradient.norm().item() for gradient in gradients if gradient is not None))
