"""GPUs by the names that their driver gives: peak FLOP/s without sparsity, and memory, from NVIDIA's data sheets."""

from typing import NamedTuple

from steeplechase.foundation.devices import NONE, Precision, card, memory_of_driver

GIGABYTE = 1e9


class Card(NamedTuple):
    """What a data sheet says of a GPU."""

    name: str
    """Part of the driver's name, beginning with the longest where several fit."""
    bfloat16: float
    """FLOP/s of dense matrix products on tensor cores."""
    tensorfloat32: float
    float32: float
    """FLOP/s without tensor cores."""
    memory: float
    """Bytes."""

    def peak(self, precision: Precision) -> float:
        """Return the FLOP/s in a precision."""
        return {"bfloat16": self.bfloat16, "tensorfloat32": self.tensorfloat32, "float32": self.float32}[precision]


CARDS = (
    Card("H200", 989.4e12, 494.7e12, 66.9e12, 141 * GIGABYTE),
    Card("H100 PCIe", 756e12, 378e12, 51e12, 80 * GIGABYTE),
    Card("H100", 989.4e12, 494.7e12, 66.9e12, 80 * GIGABYTE),
    Card("A100-SXM4-40GB", 312e12, 156e12, 19.5e12, 40 * GIGABYTE),
    Card("A100-PCIE-40GB", 312e12, 156e12, 19.5e12, 40 * GIGABYTE),
    Card("A100", 312e12, 156e12, 19.5e12, 80 * GIGABYTE),
    Card("RTX 4090", 165.2e12, 82.6e12, 82.6e12, 24 * GIGABYTE),
)


def card_named(name: str) -> Card | None:
    """Return what is known of a GPU by its driver's name; None if it is not in the table."""
    return next((each for each in CARDS if each.name in name), None)


def utilisation(name: str, precision: Precision, flops_per_second: float) -> float | None:
    """Return the model FLOPs utilisation of a GPU by its driver's name; None if it is not in the table.

    FLOPs of the model, without what is computed again, over the peak of dense matrix products in the precision
    (Chowdhery et al. 2022, arXiv 2204.02311, appendix B).
    """
    known = card_named(name)
    return None if known is None else flops_per_second / known.peak(precision)


def card_memory() -> int | None:
    """Return the bytes of this machine's first GPU, by the table or else by its driver; None where there is none."""
    name = card()
    known = card_named(name)
    if known is not None:
        return int(known.memory)
    return None if name == NONE else memory_of_driver()
