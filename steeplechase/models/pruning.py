"""Scales on the units of an encoder's dimensions, and the smaller model without the units whose scale is 0.

SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628. Scales are multiplied into the weights, so that the scaled model
is the model itself with other weights; a layer norm over the width has its statistics from the remaining units only.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.func import functional_call

from search_space.architecture import Architecture
from search_space.pruning import Dimension, Group, groups, remaining

R = TypeVar("R")
Scales = Mapping[Group, Float[Tensor, " units"]]

Entry = tuple[int, Dimension, bool]
"""The tensor's axis, the dimension whose units it has, and whether this weight carries their scales."""
WIDTH: tuple[Entry, ...] = ((0, "width", False), (1, "width", False))
WEIGHTS: Mapping[str, tuple[Entry, ...]] = {
    "embeddings.tokens": ((1, "width", False),),
    "embeddings.positions": ((1, "width", False),),
    "embeddings.segments": ((1, "width", False),),
    "encoder.projection": ((0, "width", False),),
    "norm": ((0, "width", True),),
    "attention.query": ((0, "heads", False), (0, "key_width", True), (1, "width", False)),
    "attention.key": ((0, "heads", False), (0, "key_width", False), (1, "width", False)),
    "attention.value": ((0, "heads", False), (0, "value_width", True), (1, "width", False)),
    "attention.output": ((0, "width", False), (1, "heads", True), (1, "value_width", False)),
    "feed_forward.up": ((0, "feed_forward_width", False), (1, "width", False)),
    "feed_forward.down": ((0, "width", False), (1, "feed_forward_width", True)),
    "head.transform": WIDTH,
    "head.words": (),
    "pair_head.pooler": WIDTH,
    "pair_head.classes": ((1, "width", True),),
}
"""By the end of a module's name; a bias has the entries of axis 0. The scales of a dimension enter once on the way
from the units to their readers; those of the width in the layer norms."""


@dataclass(frozen=True)
class _Axis:
    """Units along one axis of a parameter."""

    axis: int
    group: Group
    units: Int[Tensor, " indices"]
    """The unit of each index of the axis."""
    scaled: bool


class PrunableModel(Generic[R]):
    """A model whose encoder is `(s f)*n`, evaluated with scales on the units of its dimensions.

    The model's parameters are named `encoder.…`, and those of pretraining heads `head.…` and `pair_head.…`. Its layer
    norms are replaced in place.
    """

    def __init__(self, model: nn.Module, architecture: Architecture) -> None:
        self.architecture = architecture
        self._by_place = {(group.dimension, group.block): group for group in groups(architecture)}
        self._model = _Called(model)
        self._norms = tuple(_with_live_norms(model))
        self._parameters = {name: value.detach() for name, value in model.named_parameters()}
        self._axes = {name: tuple(self._axes_of(name, value)) for name, value in self._parameters.items()}

    def ones(self, dimensions: tuple[Dimension, ...]) -> dict[Group, Tensor]:
        """Return a scale of 1 for every unit of the dimensions."""
        device = next(iter(self._parameters.values())).device
        return {group: torch.ones(group.size, device=device) for group in groups(self.architecture, dimensions)}

    def evaluate(self, scales: Scales, function: Callable[..., R]) -> R:
        """Return `function(model)` with scaled weights; units with a scale of 0 are absent."""
        width = scales.get(self._by_place["width", None])
        for norm in self._norms:
            norm.live = None if width is None else (width != 0).to(norm.weight.dtype)
        weights = {f"model.{name}": value for name, value in self._scaled(scales).items()}
        found: R = functional_call(self._model, weights, (function,))
        return found

    def compressed(self, scales: Scales) -> dict[str, Tensor]:
        """Return the weights of the model without the units whose scale is 0; its outputs are those of `evaluate`."""
        live = {group: values != 0 for group, values in scales.items()}
        found = {}
        for name, value in self._scaled(scales).items():
            kept = [torch.ones(size, dtype=torch.bool, device=value.device) for size in value.shape]
            for each in self._axes[name]:
                if each.group in live:
                    kept[each.axis] &= live[each.group][each.units]
            rows = value.detach()[kept[0]]
            found[name] = rows if value.ndim == 1 else rows[:, kept[1]].contiguous()
        for name in found:
            if ".attention.query." in name:
                found[name] *= self._temperature(name, live)
        return found

    def _temperature(self, name: str, live: Mapping[Group, Tensor]) -> float:
        """Return the factor that keeps the scores, which attention divides by the root of the key width."""
        group = self._by_place["key_width", _block_of(name)]
        return float(live[group].sum() / group.size) ** 0.5 if group in live else 1.0

    def _scaled(self, scales: Scales) -> dict[str, Tensor]:
        found = {}
        for name, value in self._parameters.items():
            found[name] = value
            for each in self._axes[name]:
                if each.scaled and each.group in scales:
                    factors = scales[each.group][each.units]
                    found[name] = found[name] * (factors[:, None] if each.axis == 0 and value.ndim == 2 else factors)
        return found

    def _axes_of(self, name: str, value: Tensor) -> Iterator[_Axis]:
        for axis, dimension, scaled in _entries(name):
            if axis < value.ndim and not (dimension == "width" and self._is_factorised(name, axis)):
                block = None if dimension == "width" else _block_of(name)
                group = self._by_place[dimension, block]
                index = torch.arange(value.shape[axis], device=value.device)
                yield _Axis(axis, group, _units(index, group, value.shape[axis]), scaled)

    def _is_factorised(self, name: str, axis: int) -> bool:
        """Return whether the axis has the embedding width where that differs from the width."""
        if self.architecture.embedding_width == self.architecture.width:
            return False
        return name.startswith(("encoder.embeddings.", "head.norm.")) or (name, axis) == ("head.transform.weight", 0)


class LiveLayerNorm(nn.Module):
    """A layer norm whose mean and variance are those of the live units; the others are 0 after it.

    Slicing the width changes the statistics of a layer norm, so a model with scales must not count absent units.
    """

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.epsilon = norm.weight, norm.bias, norm.eps
        self.live: Float[Tensor, " width"] | None = None
        """1 for a live unit, 0 for an absent one; None: all are live."""

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return the normalised vectors."""
        if self.live is None:
            return nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.epsilon)
        x, count = x.float(), self.live.sum()
        centred = (x - (x * self.live).sum(-1, keepdim=True) / count) * self.live
        variance = centred.square().sum(-1, keepdim=True) / count
        normalised: Tensor = centred * torch.rsqrt(variance + self.epsilon) * self.weight + self.bias * self.live
        return normalised


class _Called(nn.Module):
    """A model and a function of it, so that `functional_call` covers methods other than `forward`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, function: Callable[[nn.Module], R]) -> R:
        """Return `function(model)`."""
        return function(self.model)


def _with_live_norms(model: nn.Module) -> Iterator[LiveLayerNorm]:
    """Replace every layer norm of the model in place, and yield the new ones."""
    for parent in [*model.modules()]:
        for name, child in [*parent.named_children()]:
            if isinstance(child, nn.LayerNorm):
                live = LiveLayerNorm(child)
                setattr(parent, name, live)
                yield live


def _entries(name: str) -> tuple[Entry, ...]:
    module, _, _ = name.rpartition(".")
    ends = [end for end in WEIGHTS if module.endswith(end)]
    if not ends:
        raise ValueError(f"{name}: pruning does not know the dimensions of this parameter")
    return WEIGHTS[max(ends, key=len)]


def _units(index: Int[Tensor, " indices"], group: Group, size: int) -> Int[Tensor, " indices"]:
    """Return the unit of each index: a head has consecutive indices, and within it every unit of a width one."""
    return index // (size // group.size) if group.dimension == "heads" else index % group.size


def _block_of(name: str) -> int:
    """Return the block's number in `encoder.blocks.3.attention.query.weight`."""
    parts = name.split(".")
    return int(parts[parts.index("blocks") + 1])


def live_units(architecture: Architecture, scales: Scales, parameters: int) -> dict[Group, Bool[Tensor, " units"]]:
    """Return which units remain if those with the smallest scales are removed until so many parameters are left.

    Every group keeps the unit with its largest scale. Raises ValueError if more parameters than that remain.
    """
    order = _removal_order(scales)
    # the smallest number of removed units with few enough parameters; their number falls with every unit
    removed = bisect_left(
        range(len(order) + 1), -parameters, key=lambda count: -_parameters_after(architecture, scales, order[:count])
    )
    if removed > len(order):
        raise ValueError(f"{parameters} parameters are fewer than remain with one unit of every group")
    live = {group: torch.ones(group.size, dtype=torch.bool, device=each.device) for group, each in scales.items()}
    for group, unit in order[:removed]:
        live[group][unit] = False
    return live


def _removal_order(scales: Scales) -> list[tuple[Group, int]]:
    """Return the units by the absolute value of their scale, smallest first, without the largest of each group."""
    units = []
    for position, (group, values) in enumerate(scales.items()):
        magnitudes = values.detach().abs().tolist()
        kept = magnitudes.index(max(magnitudes))
        units += [(size, position, unit, group) for unit, size in enumerate(magnitudes) if unit != kept]
    return [(group, unit) for _, _, unit, group in sorted(units, key=lambda one: one[:3])]


def _parameters_after(architecture: Architecture, scales: Scales, removed: list[tuple[Group, int]]) -> int:
    lost = Counter(group for group, _ in removed)
    return remaining(architecture, {group: group.size - lost[group] for group in scales}).parameters
