"""How often a difference over seeds and examples is found where there is none, and where there is one, by method.

Two arms answer the same examples with their own seeds. The arms have no difference in the population of seeds and
examples, or one of three standard errors; an arm has its own effect on each example, so that a difference on the
examples at hand is none in the population. Answers are right or wrong: a normal model cut at a threshold.
Usage: python -m benchmarks.example_error_rates [TABLES]
"""

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.table import Table

from analysis.effects import estimate, wider
from analysis.estimates import Estimates
from analysis.two_way_variance import resampled_estimate, two_way_estimate
from benchmarks.verdict_error_rates import share
from foundation.randomness import stream

TABLES = 2000
EXAMPLES = 100
STANDARD_ERRORS = 3.0
LEVELS = (0.05, 0.005)
"""Without a correction, and about that of a family of ten."""
DECIDES = "the wider of both (decides)"

Values = Float[np.ndarray, "seeds examples"]


@dataclass(frozen=True)
class Population:
    """Standard deviations of the effects on a single answer: of seeds, of an arm on an example, and of both."""

    name: str
    of_seeds: float
    of_examples: float
    residual: float
    answers: bool = False
    """Whether values are right or wrong, and not a continuous score."""

    def draw(self, seeds: int, shift: float, random: np.random.Generator) -> Values:
        """Return the values of an arm whose mean is shifted by so many standard errors of a difference."""
        values = random.normal(0, self.of_seeds, (seeds, 1)) + random.normal(0, self.of_examples, (1, EXAMPLES))
        values = values + random.normal(0, self.residual, (seeds, EXAMPLES)) + shift * self._error(seeds)
        return np.asarray(values > 0, dtype=np.float64) if self.answers else np.asarray(values)

    def _error(self, seeds: int) -> float:
        """Return the standard error of the difference of two arms, before answers are cut at a threshold."""
        of_mean = self.of_seeds**2 / seeds + self.of_examples**2 / EXAMPLES + self.residual**2 / seeds / EXAMPLES
        return float((2 * of_mean) ** 0.5)


POPULATIONS = (
    Population("seeds vary", 1, 0, 1),
    Population("examples vary", 0.1, 8, 8),
    Population("both vary", 1, 8, 8),
    Population("mostly residual", 0.1, 2, 16),
    Population("answers, both vary", 0.1, 0.8, 0.8, answers=True),
)


def by_method(values: Values, others: Values) -> Iterator[tuple[str, Estimates]]:
    """Yield the difference by every method."""
    parts = [values, -others]
    samples = [part.mean(axis=1) for part in parts]
    over_seeds = estimate(dict(enumerate(samples[0])), dict(enumerate(-samples[1])))
    both = two_way_estimate(samples, [parts])
    yield "Welch's t over seeds alone", over_seeds
    yield "two-way analysis of variance", both
    yield DECIDES, wider(over_seeds, both)
    error = np.fmax(over_seeds.standard_error, both.standard_error)
    yield "larger error, fewer degrees", Estimates(both.value, error, np.fmin(over_seeds.degrees, both.degrees))
    yield "variance of a bootstrap of both", wider(over_seeds, resampled_estimate(samples, [parts]))


Rates = Mapping[str, tuple[tuple[float, float], ...]]
"""By method the share of tables with a detection at each level, with its Monte Carlo standard error."""


def rates(population: Population, seeds: int, shift: float, tables: int) -> Rates:
    """Return how often each method finds a difference of so many standard errors."""
    random = stream(0, f"examples {population.name} {shift:g}", seeds, tables)
    p_values: dict[str, list[float]] = {}
    for _ in range(tables):
        values, others = (population.draw(seeds, by, random) for by in (shift, 0.0))
        for name, found in by_method(values, others):
            p_values.setdefault(name, []).append(found.p().item())
    return {name: tuple(share(np.array(p) <= level) for level in LEVELS) for name, p in p_values.items()}


def main(arguments: list[str]) -> int:
    """Print every population's rates by method."""
    tables, started = int(arguments[0]) if arguments else TABLES, time.monotonic()
    console = Console(width=130)
    titles = [f"{kind} at {level:.1%}" for kind in ("wrong", "power") for level in LEVELS]
    for population in POPULATIONS:
        for seeds in (3, 5):
            title = f"{population.name}, {seeds} seeds, {EXAMPLES} examples"
            shown = Table("method", *titles, title=title, title_justify="left", box=None)
            wrong, power = (rates(population, seeds, shift, tables) for shift in (0.0, STANDARD_ERRORS))
            for name in wrong:
                shown.add_row(name, *(f"{rate:.1%} ± {error:.1%}" for rate, error in (*wrong[name], *power[name])))
            console.print(shown, "")
    console.print(f"{tables} tables each, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
