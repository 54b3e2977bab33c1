"""Scores over several tasks: probability of improvement with a bootstrap interval. Agarwal et al. 2021.

"Deep Reinforcement Learning at the Edge of the Statistical Precipice", arXiv 2108.13264, section 4.3. It is the
probability of a higher score on a task drawn at random (Mann and Whitney's U over the pairs of runs). Tasks are
fixed: seeds are resampled within each task, or one draw for all tasks where one pretrained model was fine-tuned on
all of them (`shared_seeds`), whose scores depend on each other.

Percentile intervals: with three seeds 95% ones hold the truth in about 80% (docs/statistics.md), so they describe and
decide nothing.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from foundation.randomness import stream

RESAMPLES = 2000
Scores = Float[np.ndarray, "*resamples tasks seeds"]


@dataclass(frozen=True)
class Aggregated:
    """An aggregate with the bounds of its percentile interval."""

    value: float
    low: float
    high: float


def probability_of_improvement(scores: Scores, others: Scores) -> Float[np.ndarray, "*resamples"]:
    """Return the probability, mean over tasks, that a run of the first scores higher than one of the second."""
    differences = scores[..., :, None] - others[..., None, :]
    return np.asarray(((differences > 0) + 0.5 * (differences == 0)).mean(axis=(-3, -2, -1)))


def improvement(scores: Scores, others: Scores, shared_seeds: bool, alpha: float = 0.05) -> Aggregated:
    """Return the probability of improvement with its interval; the arms' seeds are drawn independently."""
    first, second = _resampled(scores, "first", shared_seeds), _resampled(others, "second", shared_seeds)
    low, high = np.quantile(probability_of_improvement(first, second), (alpha / 2, 1 - alpha / 2))
    return Aggregated(float(probability_of_improvement(scores, others)), float(low), float(high))


def _resampled(scores: Scores, sample: str, shared_seeds: bool) -> Scores:
    tasks, seeds = scores.shape
    rows = 1 if shared_seeds else tasks
    drawn: Int[np.ndarray, "resamples tasks seeds"] = stream(0, f"task bootstrap {sample}", rows, seeds).integers(
        seeds, size=(RESAMPLES, rows, seeds)
    )
    return np.take_along_axis(scores[None], np.broadcast_to(drawn, (RESAMPLES, tasks, seeds)), axis=-1)
