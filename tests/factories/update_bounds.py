"""What bounds an update of released models on a card, by counts of the emulated device.

`python -m tests.factories.update_bounds` prints the rows of docs/gpu.md. Launches are those without any graph or
compilation. Bytes are the inputs and outputs of every launch, at the released batch: counted at one row and at three,
of which they are a linear function.
"""

import sys
from typing import NamedTuple

import torch

from search_space.cards import card_named
from search_space.released.models import PRESETS
from tests.factories.device_updates import updated, with_recipe
from tests.factories.emulated_device import device

LENGTH = 128
BATCHES = {"convbert-small": 128, "electra-small": 128, "convbert-base": 256, "bert-base": 256}
"""Sequences of an update."""
CARD, BANDWIDTH = "H200", 4.8e12
"""The card of the bounds, and its bytes a second, by NVIDIA's data sheet."""
SECONDS_OF_A_LAUNCH = 5e-6


class Bounds(NamedTuple):
    """What an update asks of a card."""

    flops: float
    launches: int
    waits: int
    bytes_moved: float

    @property
    def seconds(self) -> tuple[float, float, float]:
        """At the card's peak in bfloat16, at its bandwidth, and of the launches one after another."""
        return self.flops / _peak(), self.bytes_moved / BANDWIDTH, self.launches * SECONDS_OF_A_LAUNCH

    @property
    def most_utilisation(self) -> float:
        """The share of the peak that the largest of these times leaves."""
        return self.seconds[0] / max(self.seconds)


def _peak() -> float:
    known = card_named(CARD)
    assert known is not None
    return known.bfloat16


def bounds_of(name: str) -> Bounds:
    """Return the bounds of an update of a released model at its width, in bfloat16."""
    rows = BATCHES[name]
    recipe = {"precision": "bfloat16", "sequence_length": LENGTH}
    whole = with_recipe(PRESETS[name].candidate, **recipe, batch_sequences=rows)
    one, three = (
        updated(with_recipe(whole, batch_sequences=few), on_device=True, length=LENGTH).counts for few in (1, 3)
    )
    of_a_row = (three.moved.total() - one.moved.total()) / 2
    flops = whole.train_flops(whole.recipe.tokens_after(1), whole.architecture)
    return Bounds(flops, one.launches.total(), one.waits.total(), one.moved.total() + (rows - 1) * of_a_row)


def main(names: list[str]) -> None:
    """Print a row per model: FLOPs, launches, waits, GB, milliseconds at the card's bounds, and the most MFU."""
    device()
    torch.set_num_threads(1)
    for name in names or BATCHES:
        found = bounds_of(name)
        seconds = " / ".join(f"{1e3 * each:.1f}" for each in found.seconds)
        counted = f"{found.flops:.2e} | {found.launches:,} | {found.waits} | {found.bytes_moved / 1e9:.1f}"
        row = f"| {name} {BATCHES[name]} × {LENGTH} | {counted} | {seconds} | {found.most_utilisation:.0%} |"
        print(row, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
