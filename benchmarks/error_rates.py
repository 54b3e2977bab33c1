"""Error rates, power and coverage of the reports' statistics, on simulated tables whose truth is known, as Markdown.

Usage: python -m benchmarks.error_rates [--tables 2000] [--seed 0] > docs/error_rates.md
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Bool, Float

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.distributions import t_quantile
from steeplechase.analysis.effects import against_first, estimate, wider
from steeplechase.analysis.estimates import Estimates, moments, one_sample
from steeplechase.analysis.graphical import Graph, gated, graphical_test, holm
from steeplechase.analysis.proportions import fisher_p, smallest_fisher_p
from steeplechase.analysis.simultaneous import step_down
from steeplechase.analysis.two_way_variance import two_way_estimate
from steeplechase.foundation.randomness import stream

OTHERS, EFFECT, METRIC_CORRELATION = 7, 3.0, 0.5
BAD_START = 4.0  # standard deviations, on both metrics
EXAMPLES, STANDARD_ERRORS, FAMILY_OF_TEN = 100, 3.0, 0.005
RATES = ("wrong, no effects", "wrong, effects", "power, loss", "power, score", "95% intervals that hold")
GATE = "Welch, loss before score, directed (decides)"
ALONE, WIDER = "Welch over seeds alone", "the larger p of seeds alone and both (decides)"

Values = Float[np.ndarray, "tables metrics arms seeds"]
Cells = Float[np.ndarray, "tables cells"]
Share = tuple[float, float]
"""A mean over tables and its Monte Carlo standard error."""


@dataclass(frozen=True)
class Population:
    """What seeds do to the arms."""

    name: str
    seeds: int = 3
    unequal: float = 0.0
    """Standard deviation of the logarithm of the arms' standard deviations."""
    shared: float = 0.0
    """Share of the variance that a seed adds to all arms alike."""
    bad_starts: float = 0.0
    """Probability that a run starts badly."""

    def draw(self, tables: int, truth: Float[np.ndarray, "metrics arms"], purpose: str, seed: int) -> Values:
        """Return the values of some tables."""
        random = stream(seed, f"verdicts {self.name} {purpose}", tables, self.seeds)
        metrics, arms = truth.shape

        def noise(of_arms: int) -> Values:
            common, own = (random.normal(size=(tables, count, of_arms, self.seeds)) for count in (1, metrics))
            return np.asarray(METRIC_CORRELATION**0.5 * common + (1 - METRIC_CORRELATION) ** 0.5 * own)

        spread = np.exp(self.unequal * random.normal(size=(tables, 1, arms, 1)))
        runs = self.shared**0.5 * noise(1) + (1 - self.shared) ** 0.5 * noise(arms)
        bad = random.random((tables, 1, arms, self.seeds)) < self.bad_starts
        return np.asarray(truth[None, :, :, None] + spread * runs + BAD_START * bad)


POPULATIONS = (
    Population("normal, 3 seeds"),
    Population("normal, 5 seeds", seeds=5),
    Population("normal, 8 seeds", seeds=8),
    Population("arms' sd lognormal 0.6, 3 seeds", unequal=0.6),
    Population("arms' sd lognormal 0.6, 5 seeds", seeds=5, unequal=0.6),
    Population("half of the variance shared by seed, 3 seeds", shared=0.5),
    Population("10% bad starts, 3 seeds", bad_starts=0.1),
    Population("lognormal, shared and bad starts, 5 seeds", seeds=5, unequal=0.6, shared=0.5, bad_starts=0.1),
)


@dataclass(frozen=True)
class Rates:
    """Of the verdicts of one method."""

    wrong: Share
    """Tables with a verdict on a true 0, or with the wrong sign."""
    power_loss: Share
    power_score: Share
    coverage: Share
    """95% intervals that hold the truth."""


def verdict_rates(population: Population, with_effects: bool, tables: int, seed: int = 0) -> Mapping[str, Rates]:
    """Return the rates by method; cells are the loss of every other arm, then the score."""
    truth = np.zeros((2, OTHERS + 1))
    if with_effects:
        truth[0, 1:5], truth[1, 1:3] = EFFECT, EFFECT
    cells = truth[:, 1:].reshape(-1)
    values = population.draw(tables, truth, "effects" if with_effects else "none", seed)
    paired, welch = _flat(one_sample(values[..., 1:, :] - values[..., :1, :])), _flat(against_first(moments(values)))
    signs = {
        "paired t, Holm over both metrics": (paired, _signs(paired, holm(2 * OTHERS))),
        "Welch, Holm over both metrics": (welch, _signs(welch, holm(2 * OTHERS))),
        GATE: (welch, _directed(welch, gated(OTHERS))),
    }
    return {name: _rates(sign, cells, found.p(cells) > ALPHA) for name, (found, sign) in signs.items()}


def _rates(sign: Cells, truth: Cells, covered: Bool[np.ndarray, "tables cells"]) -> Rates:
    wrong = ((sign != 0) & (sign != np.sign(truth))).any(axis=1)
    right, loss = (sign == np.sign(truth)) & (truth != 0), np.arange(2 * OTHERS) < OTHERS
    sought = [(truth != 0) & side for side in (loss, ~loss)]
    of_loss, of_score = (share(right[:, side].mean(axis=1)) if side.any() else (0.0, 0.0) for side in sought)
    return Rates(share(wrong), of_loss, of_score, share(covered.mean(axis=1)))


def _flat(found: Estimates) -> Estimates:
    """Return the estimates with metrics and arms as one axis of cells."""
    return Estimates(*(each.reshape(len(each), -1) for each in (found.value, found.standard_error, found.degrees)))


def _signs(found: Estimates, graph: Graph) -> Cells:
    return np.where(graphical_test(found.p(), graph).rejected, np.sign(found.value), 0.0)


def _directed(found: Estimates, graph: Graph) -> Cells:
    """Return the signs that the step-down rejects; only tables with a first rejection need the graph."""
    sign, rows = np.zeros_like(found.value), np.flatnonzero((found.p() <= ALPHA * graph.shares).any(axis=1))
    if len(rows):
        sign[rows] = step_down(found[rows], graph).sign
    return sign


@dataclass(frozen=True)
class Mode:
    """Seeds that stay on a plateau, in one arm or both, and the difference of the two arms among those that learn."""

    share: float
    """Of the arm's seeds."""
    difference: float = 0.0
    """In standard deviations of the seeds that learn."""
    seeds: int = 3
    both: bool = False
    """Whether the other arm stays in the same share of its seeds."""

    @property
    def truth(self) -> float:
        """The difference of the means over all seeds."""
        return self.difference if self.both else self.difference + STAYS * self.share


STAYS = 30.0  # standard deviations of the seeds that learn: 1 nat beside 0.03
SHARES, NUMBERS = (0.1, 0.2, 0.3), (3, 5, 8)
MODES = (
    *(Mode(share, difference, seeds) for seeds in NUMBERS for share in SHARES for difference in (0.0, -3.0)),
    *(Mode(share, 0.0, seeds, both=True) for seeds in NUMBERS for share in SHARES),
)
EVERY_SEED, LEARNERS = "means of every seed", "means among models that learned, Fisher's test on how many (decides)"


def mode_rates(mode: Mode, tables: int, seed: int = 0) -> Mapping[str, tuple[Share, Share]]:
    """Return by method the share of tables with a wrong verdict, and of intervals that hold the truth.

    Wrong of every seed: the sign of a significant difference is not that of the true mean difference, or of 0 where
    that is 0. Wrong among models that learned: the same of the difference of those, or Fisher's test tells arms apart
    that stay equally often.
    """
    random = stream(seed, f"mode {mode.share:g} {mode.difference:g}", mode.seeds, tables)
    found: dict[str, list[tuple[bool, bool]]] = {EVERY_SEED: [], LEARNERS: []}
    for _ in range(tables):
        stays, also = random.random((2, mode.seeds)) < mode.share
        also &= mode.both
        arm, other = random.normal(mode.difference, 1.0, mode.seeds), random.normal(0.0, 1.0, mode.seeds)
        every = estimate(dict(enumerate(arm + STAYS * stays)), dict(enumerate(other + STAYS * also)))
        learned = estimate(dict(enumerate(arm[~stays])), dict(enumerate(other[~also])))
        left = int((~stays).sum()), int((~also).sum())
        two_tests = smallest_fisher_p(sum(left), mode.seeds, mode.seeds) <= ALPHA
        level = ALPHA / 2 if two_tests else ALPHA
        told = fisher_p(left[0], mode.seeds, left[1], mode.seeds) <= level
        found[EVERY_SEED].append(_against(every, mode.truth))
        wrong, covered = _against(learned, mode.difference, level)
        found[LEARNERS].append((wrong or (told and mode.both), covered))
    return {name: (share(np.array(each)[:, 0]), share(np.array(each)[:, 1])) for name, each in found.items()}


def _against(found: Estimates, truth: float, level: float = ALPHA) -> tuple[bool, bool]:
    """Return whether a verdict is wrong and whether the 95% interval holds the truth; without a test neither is."""
    value, error, degrees = (each.item() for each in (found.value, found.standard_error, found.degrees))
    if not error > 0:
        return False, True
    half = float(t_quantile(ALPHA, degrees)) * error
    wrong = found.p().item() <= level and np.sign(value) != np.sign(truth)
    return bool(wrong), abs(value - truth) <= half


@dataclass(frozen=True)
class Answers:
    """Standard deviations of the effects on a single answer: of seeds, of an arm on an example, and of both."""

    name: str
    of_seeds: float
    of_examples: float
    residual: float
    right_or_wrong: bool = False
    """Whether a value is cut at a threshold to right or wrong."""

    def draw(self, seeds: int, shift: float, random: np.random.Generator) -> Float[np.ndarray, "seeds examples"]:
        """Return the values of an arm whose mean is shifted by so many standard errors of a difference."""
        values = random.normal(0, self.of_seeds, (seeds, 1)) + random.normal(0, self.of_examples, (1, EXAMPLES))
        of_mean = self.of_seeds**2 / seeds + self.of_examples**2 / EXAMPLES + self.residual**2 / seeds / EXAMPLES
        values = values + random.normal(0, self.residual, (seeds, EXAMPLES)) + shift * (2 * of_mean) ** 0.5
        return np.asarray(values > 0 if self.right_or_wrong else values, dtype=np.float64)


ANSWERS = (
    Answers("seeds vary", 1, 0, 1),
    Answers("examples vary", 0.1, 8, 8),
    Answers("both vary", 1, 8, 8),
    Answers("mostly residual", 0.1, 2, 16),
    Answers("right or wrong, both vary", 0.1, 0.8, 0.8, right_or_wrong=True),
)


def example_rates(
    answers: Answers, seeds: int, shift: float, levels: tuple[float, ...], tables: int, seed: int = 0
) -> Mapping[str, list[Share]]:
    """Return how often a method finds a difference at each level, where there is one or, with a shift of 0, none."""
    random = stream(seed, f"examples {answers.name} {shift:g}", seeds, tables)
    found: dict[str, list[float]] = {ALONE: [], WIDER: []}
    for _ in range(tables):
        parts = [answers.draw(seeds, shift, random), -answers.draw(seeds, 0.0, random)]
        samples = [part.mean(axis=1) for part in parts]
        alone = estimate(dict(enumerate(samples[0])), dict(enumerate(-samples[1])))
        for name, each in ((ALONE, alone), (WIDER, wider(alone, two_way_estimate(samples, [parts])))):
            found[name].append(each.p().item())
    return {name: [share(np.array(p) <= level) for level in levels] for name, p in found.items()}


def share(values: np.ndarray) -> Share:
    """Return the mean over tables and its Monte Carlo standard error."""
    return float(values.mean()), float(values.std() / len(values) ** 0.5)


def page(tables: int, seed: int) -> Iterator[str]:
    """Yield every simulation as lines of Markdown."""
    command = f"python -m benchmarks.error_rates --tables {tables} --seed {seed}"
    yield "# Error rates, power and coverage"
    yield from ("", f"{tables} simulated tables of each kind, with the Monte Carlo standard error of each share, by")
    yield from (f"`{command} > docs/error_rates.md`.", "[Statistics](statistics.md) explains what is simulated.")
    yield from _table("Verdicts", ("noise", "method", *RATES), _verdict_rows(tables, seed))
    of_modes = ("stay", "difference among learners", "seeds", "method", "wrong", "95% intervals that hold")
    yield from _table("Some seeds stay on the plateau", of_modes, _mode_rows(tables, seed))
    of_examples = ("answers", "seeds", "method", "wrong at 5%", "wrong at 0.5%", "power at 0.5%")
    yield from _table("Seeds and examples", of_examples, _example_rows(tables, seed))


def _verdict_rows(tables: int, seed: int) -> Iterator[tuple[str, ...]]:
    for population in POPULATIONS:
        null, mixed = (verdict_rates(population, effects, tables, seed) for effects in (False, True))
        for name, one in mixed.items():
            figures = (null[name].wrong, one.wrong, one.power_loss, one.power_score, one.coverage)
            yield population.name, name, *map(_percent, figures)


def _mode_rows(tables: int, seed: int) -> Iterator[tuple[str, ...]]:
    for mode in MODES:
        arms = "both arms" if mode.both else "one arm"
        named = f"{mode.share:.0%} of {arms}", f"{mode.difference:g} sd", str(mode.seeds)
        for name, pair in mode_rates(mode, tables, seed).items():
            yield *named, name, *map(_percent, pair)


def _example_rows(tables: int, seed: int) -> Iterator[tuple[str, ...]]:
    for answers, seeds in product(ANSWERS, (3, 5)):
        wrong = example_rates(answers, seeds, 0.0, (ALPHA, FAMILY_OF_TEN), tables, seed)
        power = example_rates(answers, seeds, STANDARD_ERRORS, (FAMILY_OF_TEN,), tables, seed)
        for name in wrong:
            yield answers.name, str(seeds), name, *map(_percent, (*wrong[name], *power[name]))


def _table(heading: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"## {heading}", "")
    for cells in (titles, ["---"] * len(titles), *rows):
        yield f"| {' | '.join(cells)} |"


def _percent(figure: Share) -> str:
    return f"{figure[0]:.1%} ± {figure[1]:.1%}"


def main(arguments: list[str]) -> int:
    """Print the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.error_rates")
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    sys.stdout.writelines(f"{line}\n" for line in page(chosen.tables, chosen.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
