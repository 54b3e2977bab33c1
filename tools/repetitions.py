"""A difference from the baseline in several folders: the same experiment on other splits of a text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from reports.statistics.results import Results
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.effects import interval_of
from steeplechase.analysis.estimates import one_sample
from steeplechase.configuration.arm import BASELINE
from steeplechase.foundation.errors import ConfigurationError


class Repetitions(NamedTuple):
    """How a difference of means varies over folders, beside what seeds alone make vary."""

    difference: Difference
    """Its mean over folders, with the 95% interval by Student's t."""
    sd: float
    """Over folders."""
    sd_of_seeds: float
    """What the standard deviation over folders is expected to be if a folder changes nothing."""
    p: float
    """The F test of the interaction of arm and folder in the two-way analysis of variance."""


def repetitions(folders: Sequence[Results], metric: str, arm: str) -> Repetitions:
    """Return how the difference of an arm and the baseline varies over folders with as many seeds each.

    Raises ConfigurationError for folders or arms with another number of seeds.
    """
    values = [[[*each.values[name][metric].values()] for name in (arm, BASELINE)] for each in folders]
    sizes = {len(seeds) for pair in values for seeds in pair}
    if len(sizes) != 1 or len(values) < 2:
        raise ConfigurationError(f"{metric} of {arm}: not as many seeds each, {sorted(sizes)}, or one folder")
    samples = np.array(values)  # [folders, 2, seeds]
    differences, seeds = samples.mean(axis=2) @ (1, -1), sizes.pop()
    within = samples.var(axis=2, ddof=1).mean()
    sd, count = differences.std(ddof=1), len(values)
    expected = np.sqrt(2 * within / seeds)
    p = stats.f.sf((sd / expected) ** 2, count - 1, 2 * count * (seeds - 1))
    return Repetitions(interval_of(one_sample(differences[None]), count), float(sd), float(expected), float(p))
