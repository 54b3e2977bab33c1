"""Samples of arms on a task against what is known of it without pretraining."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy import stats

from tools.audit.inference import ALPHA

UNTRAINED = "untrained"
"""The reference that is itself a sample: encoders before any training."""


def pooled(samples: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Return the pooled standard deviation and its degrees of freedom; NaN and 0 where there are none."""
    known = [np.asarray(sample) for sample in samples if len(sample)]
    degrees = sum(len(sample) - 1 for sample in known)
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in known)
    return (math.sqrt(squares / degrees) if degrees else math.nan), degrees


def excesses(
    references: Mapping[str, float], untrained: Sequence[float], mean: float, variance: float
) -> Iterator[tuple[str, float, float]]:
    """Yield the name of each reference, how far a mean lies above it, and the variance of that.

    `variance` is the mean's, in units of the pooled one. That of the untrained encoders is in their reference's.
    """
    for name, at in references.items():
        yield name, mean - at, variance
    if untrained:
        yield UNTRAINED, mean - float(np.mean(untrained)), variance + 1 / len(untrained)


def below(references: Mapping[str, float], untrained: Sequence[float], arms: Sequence[Sequence[float]]) -> bool:
    """Whether the mean over the means of all arms does not exceed every reference: one-sided t, sd pooled."""
    sd, degrees = pooled([*arms, untrained])
    if not arms or not degrees:
        return False
    mean = float(np.mean([np.mean(arm) for arm in arms]))
    of_arms = sum(1 / len(arm) for arm in arms) / len(arms) ** 2
    return any(
        not (stats.t.sf(above / (sd * math.sqrt(variance)), degrees) <= ALPHA if sd else above > 0)
        for _, above, variance in excesses(references, untrained, mean, of_arms)
    )
