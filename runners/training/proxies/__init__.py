"""Zero-cost proxies of an untrained model, one file each: `proxy(parameters)` reads the gradients of one batch."""

from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, cast

from torch.nn import Parameter


class ProxyFile(Protocol):
    """What a file of this folder offers."""

    def proxy(self, parameters: Iterable[Parameter]) -> float:
        """Return the proxy of a model whose gradients are of the mean loss of one batch; larger is better."""


def proxy_named(name: str) -> ProxyFile:
    """Return the file of a proxy."""
    return cast("ProxyFile", import_module(f"{__name__}.{name}"))
