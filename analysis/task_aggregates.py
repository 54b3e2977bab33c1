"""Scores over several tasks: aggregates and probability of improvement with bootstrap intervals. Agarwal et al. 2021.

"Deep Reinforcement Learning at the Edge of the Statistical Precipice", arXiv 2108.13264, sections 4.1 to 4.3. The
interquartile mean leaves out the lowest and the highest quarter of all runs; the probability of improvement is that
of a higher score on a task drawn at random (Mann and Whitney's U over the pairs of runs). Tasks are fixed: seeds are
resampled within each task, or one draw for all tasks where one pretrained model was fine-tuned on all of them
(`shared_seeds`), whose scores depend on each other.

Percentile intervals: with three seeds 95% ones hold the truth in about 80% (docs/statistics.md), so they describe and
decide nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from foundation.randomness import stream

RESAMPLES = 2000
Scores = Float[np.ndarray, "*resamples tasks seeds"]
Aggregate = Callable[[Scores], Float[np.ndarray, "*resamples"]]


@dataclass(frozen=True)
class Aggregated:
    """An aggregate with the bounds of its percentile interval."""

    value: float
    low: float
    high: float


def mean(scores: Scores) -> Float[np.ndarray, "*resamples"]:
    """Return the mean over tasks and seeds."""
    return np.asarray(scores.mean(axis=(-2, -1)))


def interquartile_mean(scores: Scores) -> Float[np.ndarray, "*resamples"]:
    """Return the mean of the middle half of all runs: a quarter, rounded down, is cut off at both ends."""
    runs = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = runs.shape[-1] // 4
    return np.asarray(runs[..., cut : runs.shape[-1] - cut].mean(axis=-1))


def probability_of_improvement(scores: Scores, others: Scores) -> Float[np.ndarray, "*resamples"]:
    """Return the probability, mean over tasks, that a run of the first scores higher than one of the second."""
    differences = scores[..., :, None] - others[..., None, :]
    return np.asarray(((differences > 0) + 0.5 * (differences == 0)).mean(axis=(-3, -2, -1)))


def aggregated(scores: Scores, aggregate: Aggregate, shared_seeds: bool, alpha: float = 0.05) -> Aggregated:
    """Return an aggregate over tasks and seeds with its interval."""
    return _aggregated(aggregate(scores), aggregate(_resampled(scores, "first", shared_seeds)), alpha)


def aggregated_difference(
    scores: Scores, others: Scores, aggregate: Aggregate, shared_seeds: bool, alpha: float = 0.05
) -> Aggregated:
    """Return the difference of two arms' aggregates with its interval; their seeds are drawn independently."""
    first, second = _resampled(scores, "first", shared_seeds), _resampled(others, "second", shared_seeds)
    return _aggregated(aggregate(scores) - aggregate(others), aggregate(first) - aggregate(second), alpha)


def improvement(scores: Scores, others: Scores, shared_seeds: bool, alpha: float = 0.05) -> Aggregated:
    """Return the probability of improvement with its interval; the arms' seeds are drawn independently."""
    first, second = _resampled(scores, "first", shared_seeds), _resampled(others, "second", shared_seeds)
    drawn = probability_of_improvement(first, second)
    return _aggregated(probability_of_improvement(scores, others), drawn, alpha)


def _aggregated(value: Float[np.ndarray, ""], drawn: Float[np.ndarray, "resamples"], alpha: float) -> Aggregated:  # noqa: F821
    low, high = np.quantile(drawn, (alpha / 2, 1 - alpha / 2))
    return Aggregated(float(value), float(low), float(high))


def _resampled(scores: Scores, sample: str, shared_seeds: bool) -> Scores:
    tasks, seeds = scores.shape
    rows = 1 if shared_seeds else tasks
    drawn: Int[np.ndarray, "resamples tasks seeds"] = stream(0, f"task bootstrap {sample}", rows, seeds).integers(
        seeds, size=(RESAMPLES, rows, seeds)
    )
    return np.take_along_axis(scores[None], np.broadcast_to(drawn, (RESAMPLES, tasks, seeds)), axis=-1)
