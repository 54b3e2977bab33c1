"""Copies of weights in another type: maps of one input lie together, and gradients reach each parameter."""

import torch
from torch import Tensor, nn

from steeplechase.models.cast_weights import NAMES, JoinedMaps, _Cast


def test_copies_and_gradients_are_those_of_single_casts_with_groups_one_behind_the_other() -> None:
    groups = [[torch.randn(size, 4, requires_grad=True) for size in sizes] for sizes in ((3, 2, 5), (4,), (2,))]
    parameters = [each for group in groups for each in group]
    copies: tuple[Tensor, ...] = _Cast.apply(torch.bfloat16, [3, 1, 1], *parameters)
    expected = [torch.cat(group).bfloat16() for group in groups]
    assert all(map(torch.equal, copies, expected))
    weights = [torch.randn_like(each) for each in copies]
    sum((copy * weight).sum() for copy, weight in zip(copies[:2], weights, strict=False)).backward()  # type: ignore
    for group, weight in zip(groups[:2], weights, strict=False):
        gradients = torch.cat([each.grad for each in group if each.grad is not None])
        assert torch.equal(gradients, weight.float())
    assert groups[2][0].grad is None


class Two(JoinedMaps, nn.Module):
    """Two maps of one input."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 3), nn.Linear(4, 5)

    @property
    def maps_of_input(self) -> tuple[nn.Linear, ...]:
        return self.one, self.other


def test_joined_maps_are_the_maps() -> None:
    maps, x = Two(), torch.randn(2, 7, 4)
    assert maps.mapped(x) is None
    maps.joined = {name: torch.cat([getattr(each, name) for each in maps.maps_of_input]) for name in NAMES}
    found = maps.mapped(x)
    assert found is not None
    torch.testing.assert_close(found, (maps.one(x), maps.other(x)))
