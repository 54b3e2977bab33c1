"""How often verdicts are wrong and how often they find something: simulated tables, judged by several methods.

A table has a baseline, seven other arms and two correlated metrics, loss and score. Effects are in standard
deviations between seeds. Without effects every rejection is wrong. With effects, four of the seven arms differ by 3
on the loss and two of these on the score too; wrong is a rejection of a true 0, or the wrong sign. Coverage is that
of the 95% intervals: each by itself, and all of a table together. Factorials have 2 x 2 x 2 arms, of which one factor
has an effect of 1.5.
Usage: python -m benchmarks.verdict_error_rates [TABLES]
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Bool, Float
from rich.console import Console
from rich.table import Table

from analysis.contrasts import CrossedDesign
from analysis.difference import ALPHA
from analysis.estimates import Estimates, moments, one_sample
from analysis.graphical import Graph, gated, graphical_test, holm
from analysis.moderated import moderated_contrasts
from analysis.pairing import variance_ratio
from analysis.simultaneous import step_down
from analysis.welch import against_first, contrasts, differences_from_first
from foundation.randomness import stream

TABLES = 2000
OTHERS = 7
EFFECT, FACTOR_EFFECT = 3.0, 1.5
METRIC_CORRELATION = 0.5
BAD_START = 4.0
"""What a bad start adds to both metrics, in standard deviations."""
FAVOURED = 0.5
"""Ratio of variances, paired over unpaired, below which the observed ratio is taken to favour pairing."""
CHUNK = 500
"""Tables that a graph is run on at once, for the cache."""

Values = Float[np.ndarray, "tables metrics arms seeds"]
Cells = Float[np.ndarray, "tables cells"]
Hits = Bool[np.ndarray, "tables cells"]


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

    def draw(self, tables: int, truth: Float[np.ndarray, "metrics arms"], purpose: str) -> Values:
        """Return the values of some tables."""
        random = stream(0, f"verdicts {self.name} {purpose}", tables, self.seeds)
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
class Judged:
    """What a method says of tables: rejections with their signs, and whether intervals hold the truth."""

    sign: Cells
    pointwise: Hits | None = None
    """Per cell, whether its own 95% interval holds the truth."""
    simultaneous: Bool[np.ndarray, "tables"] | None = None  # noqa: F821
    """Per table, whether all simultaneous intervals hold the truth."""


def judged(values: Values, truth: Cells) -> Iterator[tuple[str, Judged]]:
    """Yield what each method says; cells are the loss of every other arm, then the score."""
    arms = moments(values)
    paired = _flat(one_sample(values[..., 1:, :] - values[..., :1, :]))
    welch, smoothed = _flat(against_first(arms)), _flat(moderated_contrasts(arms, differences_from_first(OTHERS + 1)))
    everything, gate = holm(2 * OTHERS), gated(OTHERS)
    for name, found in (("paired t", paired), ("Welch", welch)):
        yield f"{name}, Holm over both metrics", _two_sided(found, found.p(), everything, truth)
    smaller = np.fmin(paired.p(), welch.p())
    yield "the smaller p of both, Holm", Judged(_two_sided(paired, smaller, everything, truth).sign)
    yield "the test that the observed ratio favours, Holm", _favoured(values, paired, welch, everything, truth)
    yield "Welch, loss before score", _two_sided(welch, welch.p(), gate, truth)
    yield "Welch, loss before score, directed", _directed(welch, gate, truth)
    bonferroni = np.where(gate.shares * ALPHA >= welch.p(), np.sign(welch.value), 0.0)
    yield "Welch, Bonferroni on the loss alone", Judged(bonferroni, simultaneous=_held(welch, gate, truth))
    yield "moderated, loss before score", _two_sided(smoothed, smoothed.p(), gate, truth)


def _two_sided(found: Estimates, p: Cells, graph: Graph, truth: Cells) -> Judged:
    return Judged(np.where(_rejected(p, graph), np.sign(found.value), 0.0), found.p(truth) > ALPHA)


def _favoured(values: Values, paired: Estimates, welch: Estimates, graph: Graph, truth: Cells) -> Judged:
    """Judge a table and metric by paired t where its own paired differences have half the variance or less."""
    use = np.repeat(variance_ratio(values) < FAVOURED, OTHERS, axis=1)
    pointwise = np.where(use, paired.p(truth), welch.p(truth)) > ALPHA
    return Judged(
        np.where(_rejected(np.where(use, paired.p(), welch.p()), graph), np.sign(welch.value), 0.0), pointwise
    )


def _directed(found: Estimates, graph: Graph, truth: Cells) -> Judged:
    """Judge by the step-down with its simultaneous intervals; only tables with a first rejection need the graph."""
    hit = (found.p() <= ALPHA * graph.shares).any(axis=1)
    sign, simultaneous = np.zeros_like(found.value), _held(found, graph, truth)
    for rows in _chunks(np.flatnonzero(hit)):
        one = step_down(Estimates(found.value[rows], found.standard_error[rows], found.degrees[rows]), graph)
        inside = np.where(one.low == 0, truth > 0, one.low <= truth) & np.where(
            one.high == 0, truth < 0, truth <= one.high
        )
        sign[rows], simultaneous[rows] = one.sign, inside.all(axis=1)
    return Judged(sign, found.p(truth) > ALPHA, simultaneous)


def _held(found: Estimates, graph: Graph, truth: Cells) -> Bool[np.ndarray, "tables"]:  # noqa: F821
    """Whether Bonferroni's intervals of a table all hold the truth."""
    return np.asarray((found.p(truth) >= ALPHA * graph.shares).all(axis=1))


def _rejected(p: Cells, graph: Graph) -> Hits:
    found = np.zeros(p.shape, dtype=bool)
    for rows in _chunks(np.flatnonzero((p <= ALPHA * graph.shares).any(axis=1))):
        found[rows] = graphical_test(p[rows], graph).rejected
    return found


def _chunks(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def _flat(found: Estimates) -> Estimates:
    """Return the estimates with metrics and arms as one axis of cells."""
    return Estimates(*(each.reshape(len(each), -1) for each in (found.value, found.standard_error, found.degrees)))


@dataclass(frozen=True)
class Rates:
    """Shares with their Monte Carlo standard errors; None where a method has none."""

    wrong: tuple[float, float]
    power_loss: tuple[float, float] | None
    power_score: tuple[float, float] | None
    pointwise: tuple[float, float] | None
    simultaneous: tuple[float, float] | None


def rates(population: Population, with_effects: bool, tables: int) -> dict[str, Rates]:
    """Return the rates of every method."""
    truth = np.zeros((2, OTHERS + 1))
    if with_effects:
        truth[0, 1:5], truth[1, 1:3] = EFFECT, EFFECT
    cells = truth[:, 1:].reshape(-1)
    values = population.draw(tables, truth, "effects" if with_effects else "none")
    return {name: _rates(one, cells) for name, one in judged(values, cells)}


def _rates(one: Judged, truth: Cells) -> Rates:
    wrong = ((one.sign != 0) & (one.sign != np.sign(truth))).any(axis=1)
    right = (one.sign == np.sign(truth)) & (truth != 0)
    loss, score = ((np.arange(2 * OTHERS) < OTHERS) == side for side in (True, False))
    power_loss, power_score = (
        share(right[:, truth.astype(bool) & side].mean(axis=1)) if truth.any() else None for side in (loss, score)
    )
    pointwise = None if one.pointwise is None else share(one.pointwise.mean(axis=1))
    simultaneous = None if one.simultaneous is None else share(one.simultaneous)
    return Rates(share(wrong), power_loss, power_score, pointwise, simultaneous)


def share(values: np.ndarray) -> tuple[float, float]:
    """Return the mean over tables and its Monte Carlo standard error."""
    return float(values.mean()), float(values.std() / len(values) ** 0.5)


FACTORS = tuple(product((0, 1), repeat=3))


def factorial_rates(
    population: Population, tables: int
) -> dict[str, tuple[tuple[float, float], tuple[float, float]]]:
    """Return by method the share of tables with a wrong verdict, and the power for the factor with an effect."""
    names = tuple((f"{name}=0", f"{name}=1") for name in "abc")
    design = CrossedDesign(tuple("abc"), names, FACTORS, FACTORS, fraction=False)
    weights = np.array([each.weights for each in design.contrasts()])
    effects = np.array([[FACTOR_EFFECT * run[0] for run in FACTORS]])
    values = population.draw(tables, effects, "factorial")[:, 0]
    arms = moments(values)
    by_seed = one_sample(np.einsum("ca,tas->tcs", weights, values))
    one_by_one = one_sample(values[:, 1:] - values[:, :1])
    differs = np.array([run[0] for run in FACTORS[1:]], dtype=bool)
    main, only = np.arange(len(weights)) == 0, np.array(FACTORS[1:]).sum(axis=1) == differs
    return {
        "arm by arm, paired t, Holm": _tested(one_by_one, differs, differs & only),
        "arm by arm, Welch, Holm": _tested(against_first(arms), differs, differs & only),
        "main effects and interactions, paired t, Holm": _tested(by_seed, main, main),
        "main effects and interactions, Welch, Holm": _tested(contrasts(arms, weights), main, main),
    }


def _tested(
    found: Estimates, differs: np.ndarray, sought: np.ndarray
) -> tuple[tuple[float, float], tuple[float, float]]:
    hits = _rejected(found.p(), holm(found.value.shape[1]))
    return share((hits & ~differs).any(axis=1)), share(hits[:, sought].mean(axis=1))


def main(arguments: list[str]) -> int:
    """Print every population's rates by method."""
    tables = int(arguments[0]) if arguments else TABLES
    started, console = time.monotonic(), Console(width=150)
    for population in POPULATIONS:
        null, mixed = (rates(population, effects, tables) for effects in (False, True))
        titles = (
            "method",
            "wrong, no effects",
            "wrong, effects",
            "power, loss",
            "power, score",
            "coverage, pointwise",
            "simultaneous",
        )
        shown = Table(*titles, title=population.name, title_justify="left", box=None)
        for name, one in mixed.items():
            figures = (null[name].wrong, one.wrong, one.power_loss, one.power_score, one.pointwise, one.simultaneous)
            shown.add_row(name, *map(_percent, figures))
        console.print(shown, "")
    for population in POPULATIONS:
        shown = Table("method", "wrong", "power", title=f"2 x 2 x 2 factorial: {population.name}", box=None)
        for name, pair in factorial_rates(population, tables).items():
            shown.add_row(name, *map(_percent, pair))
        console.print(shown, "")
    console.print(f"{tables} tables each, {time.monotonic() - started:.0f} s")
    return 0


def _percent(figure: tuple[float, float] | None) -> str:
    return "" if figure is None else f"{figure[0]:.1%} ± {figure[1]:.1%}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
