"""Checks of shapes that are made once for each combination of shapes: they are half the time of small models."""

from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any


def once_for_each_shape(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function with its types checked, but not again for arguments of types and shapes that have passed.

    What jaxtyping passes last has the arguments and the result, so that no verdict depends on anything else.
    """
    from beartype import beartype

    checked, passed = beartype(function), set[object]()

    @wraps(function)
    def check(*args: Any, **kwargs: Any) -> object:
        key = (*forms(args), *kwargs, *forms(kwargs.values())) if kwargs else tuple(forms(args))
        if key in passed:
            return function(*args, **kwargs)
        result = checked(*args, **kwargs)
        passed.add(key)
        return result

    return check


def forms(values: Iterable[Any]) -> list[object]:
    """Return all of the values that annotations can ask for."""
    found = list[object]()
    for value in values:
        kind = type(value)
        form = form_of(kind)
        found.append(kind if form is None else form(value))
    return found


@cache
def form_of(kind: type) -> Callable[[Any], object] | None:
    """Return what annotations can ask for of values of a type; None for the type alone.

    torch is imported where a function with tensors is called: no test of the layers without it does so.
    """
    from numpy import ndarray
    from torch import Tensor

    if issubclass(kind, Tensor | ndarray):
        return lambda array: (kind, array.dtype, array.shape)
    if issubclass(kind, str):
        return str
    if issubclass(kind, tuple | list):
        return lambda values: (kind, *forms(values))
    if issubclass(kind, dict):
        return lambda values: (kind, *forms(values), *forms(values.values()))
    return None
