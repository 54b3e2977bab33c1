"""Caches of incremental decoding: memory that grows, is reordered and is shortened holds what was put into it."""

import pytest
import torch
from torch import nn

from search_space.architecture import Architecture
from steeplechase.models.continuation import (
    SMALLEST_CAPACITY,
    KeyValueCache,
    PositionCache,
    Recomputed,
    continuation_of,
)
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.prepared_layers import PreparedLinear
from tests.factories.small_experiments import stir


def vectors(seed: int, length: int, width: int = 12) -> torch.Tensor:
    return torch.randn(3, length, width, generator=torch.Generator().manual_seed(seed))


def test_a_cache_holds_all_positions_beyond_its_first_capacity() -> None:
    cache, given = PositionCache(), vectors(1, 3 * SMALLEST_CAPACITY)
    for place, part in enumerate(given.split(7, 1)):
        assert torch.equal(cache.append(part), given[:, : 7 * place + part.shape[1]])


def test_rows_are_reordered_and_positions_forgotten() -> None:
    cache, given, rows = PositionCache(), vectors(1, 5), torch.tensor([2, 2, 0])
    cache.append(given)
    cache.reorder(rows)
    cache.forget(2)
    assert torch.equal(cache.append(vectors(2, 1)), torch.cat([given[rows, :3], vectors(2, 1)], 1))


def test_keys_and_values_are_apart_by_head() -> None:
    cache, given = KeyValueCache(2, 8, 4), vectors(3, SMALLEST_CAPACITY + 9)
    for part in given.split(1, 1):
        keys, values = cache.append(part)
    assert torch.equal(keys.transpose(1, 2).flatten(2), given[..., :8])
    assert torch.equal(values.transpose(1, 2).flatten(2), given[..., 8:])
    assert (keys.shape[1], values.shape[1]) == (2, 2)


@pytest.mark.parametrize("biases", [True, False])
def test_prepared_maps_are_the_maps(biases: bool) -> None:
    maps = [nn.Linear(12, outputs, biases) for outputs in (4, 6)]
    expected = torch.cat([each(vectors(1, 5)) for each in maps], -1)
    assert (PreparedLinear(*maps)(vectors(1, 5)) - expected).abs().max() < 1e-6


@pytest.mark.parametrize("convolution", ["none", "dynamic"])
@torch.no_grad()
def test_forgotten_positions_leave_no_trace(convolution: str) -> None:
    """With cached keys and values, and with inputs that are computed over again."""
    sizes = {"depth": 1, "width": 12, "embedding_width": 12, "heads": 2, "vocabulary_size": 9, "segments": 0}
    option = {"kind": convolution, **({"window": "look_back"} if convolution != "none" else {})}
    architecture = Architecture.model_validate(
        {**sizes, "position": "rotary", "convolution": option, "visibility": "left_to_right"}
    )
    encoder = Encoder(architecture, 0.0).eval()
    initialise(encoder, 1)
    stir(encoder)
    attention = encoder.blocks[0].get_submodule("attention")
    one, other = continuation_of(attention, None), continuation_of(attention, None)
    assert isinstance(one, Recomputed) == (convolution == "dynamic")
    one(vectors(1, 4))
    one(vectors(2, 2))
    one.forget(2)
    other(vectors(1, 4))
    assert (one(vectors(3, 2)) - other(vectors(3, 2))).abs().max() < 1e-6
