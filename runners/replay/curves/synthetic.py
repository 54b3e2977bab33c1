"""Families of learning curves made from a seed: what policies are developed on, so that recorded curves stay unseen.

A configuration is a point of six numbers in [0, 1]; a response surface with a cliff makes a quality of four of them,
and the family says how a curve follows from it. `reversed`, `overtaking` and `misleading` are adversarial: whoever
leads early ends badly.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from runners.replay.curves.recorded import RecordedCurves, from_table

Numbers = NDArray[np.float64]
Chance = np.random.Generator

DIMENSIONS = 6
NOISE = 0.005


def synthetic(family: str, seed: int, candidates: int = 300, points: int = 51) -> RecordedCurves:
    """Return curves of a family, [candidates, points]. Raises KeyError for a family that there is not."""
    chance = np.random.default_rng([seed, sorted(FAMILIES).index(family)])
    configs = chance.random((candidates, DIMENSIONS))
    quality = _quality(configs, chance)
    steps = np.arange(1, points + 1) / points
    values = FAMILIES[family](quality, steps[None, :], configs, chance)
    values = values + NOISE * chance.standard_normal(values.shape)
    named = [{f"x{place}": float(value) for place, value in enumerate(row)} for row in configs]
    return from_table(
        f"{family}-{seed}", [f"c{each:04d}" for each in range(candidates)], named, range(points), values
    )


def _quality(configs: Numbers, chance: Chance) -> Numbers:
    """Return ranks in (0, 1] of a smooth surface with a cliff; 0 is best."""
    best = chance.uniform(0.3, 0.8, 4)
    width = np.array([0.15, 0.3, 0.4, 0.6])
    surface = (((configs[:, :4] - best) / width) ** 2).sum(axis=1)
    surface = (
        surface + np.where(configs[:, 0] > best[0] + 0.25, 8.0, 0.0) + 0.5 * chance.standard_normal(len(configs))
    )
    return np.asarray((surface.argsort().argsort() + 1) / len(configs))


def _power_laws(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    floor = 0.2 + 0.8 * quality[:, None] ** 0.7
    exponent = chance.uniform(0.3, 1.2, (len(quality), 1))
    return np.asarray(floor + 0.5 * ((t / t[0, 0]) ** -exponent) * chance.uniform(0.5, 1.5, (len(quality), 1)))


def _plateaus(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    """Most never leave the start; the others leave it after a delay."""
    learns = np.clip(1.0 - 2.5 * quality[:, None], 0.0, 1.0)
    delay = chance.uniform(0.0, 0.3, (len(quality), 1))
    progress = 1.0 - np.exp(-4.0 * np.maximum(t - delay, 0.0) * (0.5 + learns))
    return np.asarray(1.0 - 0.6 * learns * progress)


def _overfitting(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    rate = 2.0 + 10.0 * configs[:, 5:6]
    return np.asarray(0.3 + 0.6 * quality[:, None] + 0.5 * np.exp(-rate * t) + 0.02 * rate * t**2)


def _diverging(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    values = _power_laws(quality, t, configs, chance)
    when = chance.uniform(0.0, 1.0, (len(quality), 1))
    return np.where((configs[:, 0:1] > 0.7) & (t > when), np.inf, values)


def _noisy(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    values = _power_laws(quality, t, configs, chance)
    return np.asarray(values + 0.1 * chance.standard_normal(values.shape))


def _unrelated(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    """Neither configuration nor beginning says anything of the end."""
    end, start = chance.random((2, len(quality), 1))
    return np.asarray(1.0 + start + (end - start - 1.0) * t**2)


def _reversed(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    """Straight lines that all cross in the middle, with configurations that tell nothing."""
    end = chance.random((len(quality), 1))
    return np.asarray(2.0 - end + (2.0 * end - 2.0) * t)


def _overtaking(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    """Make the best the slowest: the lower the floor, the later the fall."""
    end = chance.random((len(quality), 1))
    return np.asarray(end + (2.5 - end) * np.exp(-(1.5 + 12.0 * end) * t))


def _misleading(quality: Numbers, t: Numbers, configs: Numbers, chance: Chance) -> Numbers:
    """Let configurations order the beginning one way and the end the other, with all falling late."""
    return np.asarray(1.0 + 0.5 * quality[:, None] - t**4 * (0.5 + 1.0 * quality[:, None]) + 0.3 * np.exp(-20 * t))


FAMILIES: Mapping[str, Callable[[Numbers, Numbers, Numbers, Chance], Numbers]] = {
    "diverging": _diverging,
    "misleading": _misleading,
    "noisy": _noisy,
    "overfitting": _overfitting,
    "overtaking": _overtaking,
    "plateaus": _plateaus,
    "power_laws": _power_laws,
    "reversed": _reversed,
    "unrelated": _unrelated,
}
ADVERSARIAL = ("misleading", "overtaking", "reversed", "unrelated")
