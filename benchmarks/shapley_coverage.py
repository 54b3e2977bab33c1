"""How often an interval holds a Shapley value over all orders, by the number of components, orders and seeds.

The metric of every set of components is drawn from a normal distribution on its own, so that components interact as
strongly as they can; seeds add noise of half its standard deviation.
Usage: python -m benchmarks.shapley_coverage [TABLES]
"""

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from analysis.estimates import moments
from analysis.shapley import all_orders, sampled_orders, shapley_values
from benchmarks.verdict_error_rates import share
from foundation.randomness import stream

TABLES = 2000
NOISE = 0.5
CASES = ((3, None), (6, None), (6, 2), (6, 4), (5, 6), (6, 6), (6, 12), (8, 6), (8, 12))
"""Numbers of components and of random orders; None for all orders."""


def coverage(components: int, orders: int | None, seeds: int, tables: int) -> tuple[float, float, float]:
    """Return the share of 95% intervals that hold the value, its Monte Carlo standard error, and the median width."""
    random = stream(0, "Shapley coverage", components, orders or 0, seeds)
    names = [str(number) for number in range(components)]
    every = all_orders(names)
    held, widths = [], []
    for table in range(tables):
        weights = every if orders is None else sampled_orders(names, orders, table)
        worth = random.normal(size=len(every.coalitions))
        means = worth[[every.coalitions.index(each) for each in weights.coalitions]]
        noise = NOISE * random.normal(size=(len(means), seeds))
        low, high = shapley_values(moments(means[:, None] + noise), weights).interval()
        held.append((low <= every.weights @ worth) & (every.weights @ worth <= high))
        widths.append(high - low)
    return (*share(np.concatenate(held)), float(np.median(widths)))


def main(arguments: list[str]) -> int:
    """Print the coverage of every case."""
    tables, started = int(arguments[0]) if arguments else TABLES, time.monotonic()
    shown = Table("components", "orders", "seeds", "95% intervals that hold", "median width", box=None)
    for components, orders in CASES:
        for seeds in (3, 5):
            held, error, width = coverage(components, orders, seeds, tables)
            counts = (components, "all" if orders is None else orders, seeds)
            shown.add_row(*map(str, counts), f"{held:.1%} ± {error:.1%}", f"{width:.2f}")
    console = Console(width=100)
    console.print(shown, f"{tables} tables each, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
