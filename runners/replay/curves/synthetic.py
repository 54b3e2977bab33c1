"""Synthetic learning curves by family and seed, for the development of policies without the recorded curves.

A configuration is a point of six numbers in [0, 1]. Quality is a response surface with a cliff over four of them; the
family maps quality to a curve. In the adversarial families early values mislead: `reversed`, `overtaking`,
`misleading` and `unrelated`. Policies are chosen on instances 1 to 99 of `FAMILIES`; those of `HELD_OUT` and `LATER`,
and higher numbers, are for checks of what was chosen.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from runners.replay.curves.recorded import RecordedCurves, from_table

Numbers = NDArray[np.float64]
Generator = np.random.Generator

DIMENSIONS = 6
NOISE = 0.005


def synthetic(family: str, seed: int, candidates: int = 300, points: int = 51) -> RecordedCurves:
    """Return curves of a family, [candidates, points]. Raises KeyError for an unknown family."""
    curve = {**FAMILIES, **HELD_OUT, **LATER, **PARALLEL}[family]
    numbered = [*sorted(FAMILIES), *sorted(HELD_OUT), *sorted(LATER), *PARALLEL]
    generator = np.random.default_rng([seed, numbered.index(family)])
    configs = generator.random((candidates, DIMENSIONS))
    quality = _quality(configs, generator)
    steps = np.arange(1, points + 1) / points
    values = curve(quality, steps[None, :], configs, generator)
    values = values + NOISE * generator.standard_normal(values.shape)
    named = [{f"x{axis}": float(value) for axis, value in enumerate(row)} for row in configs]
    return from_table(
        f"{family}-{seed}", [f"c{each:04d}" for each in range(candidates)], named, range(points), values
    )


def _quality(configs: Numbers, generator: Generator) -> Numbers:
    """Return ranks in (0, 1] of a smooth surface with a cliff; 0 is best."""
    best = generator.uniform(0.3, 0.8, 4)
    width = np.array([0.15, 0.3, 0.4, 0.6])
    surface = (((configs[:, :4] - best) / width) ** 2).sum(axis=1)
    surface = (
        surface + np.where(configs[:, 0] > best[0] + 0.25, 8.0, 0.0) + 0.5 * generator.standard_normal(len(configs))
    )
    return np.asarray((surface.argsort().argsort() + 1) / len(configs))


def _power_laws(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    floor = 0.2 + 0.8 * quality[:, None] ** 0.7
    exponent = generator.uniform(0.3, 1.2, (len(quality), 1))
    return np.asarray(floor + 0.5 * ((t / t[0, 0]) ** -exponent) * generator.uniform(0.5, 1.5, (len(quality), 1)))


def _plateaus(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves of which most stay at the initial value; the others improve after a delay."""
    learns = np.clip(1.0 - 2.5 * quality[:, None], 0.0, 1.0)
    delay = generator.uniform(0.0, 0.3, (len(quality), 1))
    progress = 1.0 - np.exp(-4.0 * np.maximum(t - delay, 0.0) * (0.5 + learns))
    return np.asarray(1.0 - 0.6 * learns * progress)


def _overfitting(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    rate = 2.0 + 10.0 * configs[:, 5:6]
    return np.asarray(0.3 + 0.6 * quality[:, None] + 0.5 * np.exp(-rate * t) + 0.02 * rate * t**2)


def _diverging(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    values = _power_laws(quality, t, configs, generator)
    when = generator.uniform(0.0, 1.0, (len(quality), 1))
    return np.where((configs[:, 0:1] > 0.7) & (t > when), np.inf, values)


def _noisy(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    values = _power_laws(quality, t, configs, generator)
    return np.asarray(values + 0.1 * generator.standard_normal(values.shape))


def _unrelated(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves whose final values depend neither on configurations nor on early values."""
    end, start = generator.random((2, len(quality), 1))
    return np.asarray(1.0 + start + (end - start - 1.0) * t**2)


def _reversed(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return straight lines that cross in the middle; configurations are uninformative."""
    end = generator.random((len(quality), 1))
    return np.asarray(2.0 - end + (2.0 * end - 2.0) * t)


def _overtaking(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves that fall the later, the better their final value."""
    end = generator.random((len(quality), 1))
    return np.asarray(end + (2.5 - end) * np.exp(-(1.5 + 12.0 * end) * t))


def _misleading(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves whose early values rank configurations in the opposite order of their final values."""
    return np.asarray(1.0 + 0.5 * quality[:, None] - t**4 * (0.5 + 1.0 * quality[:, None]) + 0.3 * np.exp(-20 * t))


def _noisier(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    values = _power_laws(quality, t, configs, generator)
    return np.asarray(values + 0.2 * generator.standard_normal(values.shape))


def _heavy_tailed(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves whose noise has no variance, as of evaluations that sometimes fail."""
    values = _power_laws(quality, t, configs, generator)
    return np.asarray(values + 0.05 * np.abs(generator.standard_t(2, values.shape)))


def _late_plateaus(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    delay = generator.uniform(0.0, 0.6, (len(quality), 1))
    progress = 1.0 - np.exp(-8.0 * np.maximum(t - delay, 0.0))
    return np.asarray(1.0 - 0.6 * np.clip(1.0 - 2.0 * quality[:, None], 0.0, 1.0) * progress)


def _stairs(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves of three sudden falls at random times, in sum the larger, the better the configuration."""
    when = np.sort(generator.uniform(0.0, 0.9, (len(quality), 3)), axis=1)
    return np.asarray(1.5 - (1.0 - quality[:, None]) * (t[..., None] > when[:, None, :]).sum(axis=2) / 3)


def _decayed_rate(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves whose excess loss, the larger the better they end, vanishes with a decaying learning rate."""
    excess = 0.7 * (1.0 - quality[:, None]) + 0.1 * generator.random((len(quality), 1))
    return np.asarray(0.3 + 0.6 * quality[:, None] + excess * (1.0 - t) + 0.3 * np.exp(-10.0 * t))


def _cyclic_rates(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves under a learning rate that falls by a cosine to 0 in each of four cycles and raises the loss."""
    rate = 0.5 * (1.0 + np.cos(np.pi * (4.0 * t % 1.0)))
    return np.asarray(_power_laws(quality, t, configs, generator) + (0.1 + 0.4 * configs[:, 4:5]) * rate * (t < 1.0))


def _late_collapse(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves of which half rise again from some time on, the earlier, the higher their first axis."""
    when = 0.3 + 1.4 * (1.0 - configs[:, 0:1]) * generator.uniform(0.7, 1.3, (len(quality), 1))
    return np.asarray(_power_laws(quality, t, configs, generator) + 3.0 * np.maximum(t - when, 0.0))


def _two_phases(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return curves of which two thirds fall a second time, late and steeply, the earlier, the better they are."""
    first = 0.4 + 0.3 * generator.random((len(quality), 1)) + 0.5 * np.exp(-15.0 * t)
    when = 0.15 + 1.1 * quality[:, None] + generator.uniform(0.0, 0.2, (len(quality), 1))
    return np.asarray(first - (0.2 + 0.2 * (1.0 - quality[:, None])) / (1.0 + np.exp(-40.0 * (t - when))))


def _parallel(quality: Numbers, t: Numbers, configs: Numbers, generator: Generator) -> Numbers:
    """Return power laws of nearly one power, told apart by their floors alone; configurations are uninformative."""
    floor = np.abs(0.5 * generator.standard_normal((len(quality), 1)))
    power = 0.7 * np.exp(0.1 * generator.standard_normal((len(quality), 1)))
    values = floor + 3.0 * (t / t[0, 0]) ** -power
    when = np.where(generator.random((len(quality), 1)) < 0.1, generator.random((len(quality), 1)), np.inf)
    return np.where(t > when, np.inf, values)


FAMILIES: Mapping[str, Callable[[Numbers, Numbers, Numbers, Generator], Numbers]] = {
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
HELD_OUT: Mapping[str, Callable[[Numbers, Numbers, Numbers, Generator], Numbers]] = {
    "decayed_rate": _decayed_rate,
    "heavy_tailed": _heavy_tailed,
    "late_plateaus": _late_plateaus,
    "noisier": _noisier,
    "stairs": _stairs,
}
LATER: Mapping[str, Callable[[Numbers, Numbers, Numbers, Generator], Numbers]] = {
    "cyclic_rates": _cyclic_rates,
    "late_collapse": _late_collapse,
    "two_phases": _two_phases,
}
"""Families for checks, written after the share of looks was made to depend on the control."""
PARALLEL: Mapping[str, Callable[[Numbers, Numbers, Numbers, Generator], Numbers]] = {"parallel": _parallel}
"""The family that the bend of forecasts was chosen on, instances 1 to 99."""
