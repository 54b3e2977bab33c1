"""Recorded curves for tests: power laws, some of which diverge, and curves that cross."""

import numpy as np

from runners.replay.curves.recorded import RecordedCurves, from_table

CLIFF, NOISE = 8.0, 0.005


def synthetic(family: str, seed: int, candidates: int = 300, points: int = 51) -> RecordedCurves:
    """Return curves [candidates, points] over six axes; quality is a smooth surface with a cliff, 0 is best."""
    random = np.random.default_rng([seed, sorted(FAMILIES).index(family)])
    configs = random.random((candidates, 6))
    best = random.uniform(0.3, 0.8, 4)
    surface = (((configs[:, :4] - best) / (0.15, 0.3, 0.4, 0.6)) ** 2).sum(axis=1)
    surface += np.where(configs[:, 0] > best[0] + 0.25, CLIFF, 0.0) + 0.5 * random.standard_normal(candidates)
    quality, t = (surface.argsort().argsort()[:, None] + 1) / candidates, np.arange(1, points + 1)[None, :] / points
    values = FAMILIES[family](quality, t, configs, random)
    values = values + NOISE * random.standard_normal(values.shape)
    named = [{f"x{axis}": float(value) for axis, value in enumerate(row)} for row in configs]
    names = [f"c{each:04d}" for each in range(candidates)]
    return from_table(f"{family}-{seed}", names, named, range(points), values)


def power_laws(quality: np.ndarray, t: np.ndarray, configs: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return curves whose floors rise with quality."""
    exponent, scale = random.uniform((0.3, 0.5), (1.2, 1.5), (len(quality), 2)).T
    return np.asarray(0.2 + 0.8 * quality**0.7 + 0.5 * scale[:, None] * (t / t[0, 0]) ** -exponent[:, None])


def diverging(quality: np.ndarray, t: np.ndarray, configs: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return power laws of which those with a large first axis diverge."""
    when = random.uniform(0.0, 1.0, (len(quality), 1))
    return np.where((configs[:, :1] > 0.7) & (t > when), np.inf, power_laws(quality, t, configs, random))


def misleading(quality: np.ndarray, t: np.ndarray, configs: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return curves whose early values rank configurations in the opposite order of their final values."""
    return np.asarray(1.0 + 0.5 * quality - t**4 * (0.5 + quality) + 0.3 * np.exp(-20 * t))


FAMILIES = {"diverging": diverging, "misleading": misleading, "power_laws": power_laws}
