"""Where a learning curve will end: power laws and a logarithm through its points, averaged, with their doubt.

The family is that of Domhan et al. 2015 (Speeding up automatic hyperparameter optimization by extrapolation of
learning curves) cut down to what few points can tell: value = floor + scale · step^-exponent for a few fixed
exponents, and value = floor + scale · log(step). Each is linear in two unknowns, so all are fitted at once.
Smaller values are better throughout. A curve that has met NaN or infinity is given up: its end is infinite.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import NOISE, GaussianProcess

Numbers = NDArray[np.float64]

EXPONENTS = (0.0, 0.25, 0.5, 1.0)  # 0 stands for the logarithm, the slowest fall of the family
RECENCY = 0.7  # a point's weight is its step to this power: what happened last tells most of what comes
CALM = 0.05  # ridge on the scale, in units of a whole family's spread: two points alone do not promise a fall
DOUBT = 0.35  # doubt per unit of log step still to go, in units of the spread between candidates
CAP = 3.0  # spreads from the middle beyond which candidates are all alike to the process over features
LEAST = 1e-3  # least doubt, in the same units: two finished curves that are level are not told apart by luck


def predict_final(curves: Numbers, features: Numbers | None = None) -> tuple[Numbers, Numbers]:
    """Return the predicted final value of each candidate and its standard deviation, two arrays [candidates].

    `curves` [candidates, points] holds values at evenly spaced points, smaller is better, NaN from where a
    candidate has not been trained; the last column is the end of training. Infinity marks divergence. `features`
    [candidates, features] adds what like candidates did: it sharpens started curves and speaks for those not started,
    which without it are given the mean and spread of the started ones. Raises ValueError where nothing is started.
    """
    reached = points_seen(curves)
    if not reached.any():
        raise ValueError("no candidate has a first value yet: there is nothing to predict from")
    mean, sd = extrapolate(curves, reached)
    started = (reached > 0) & np.isfinite(mean)
    if not started.any():
        return np.full(len(curves), np.inf), np.full(len(curves), np.inf)
    if features is None:
        spread = float(mean[started].std()) or 1.0
        centre = float(mean[started].mean())
        return np.where(reached > 0, mean, centre), np.where(reached > 0, sd, spread)
    return with_features(mean, sd, started, reached, features)


def points_seen(curves: Numbers) -> NDArray[np.int64]:
    """Return how many points of each candidate have been seen: up to the last that is not NaN."""
    points = np.arange(1, curves.shape[1] + 1)
    return np.asarray(np.max(np.where(np.isnan(curves), 0, points), axis=1), dtype=np.int64)


def extrapolate(curves: Numbers, reached: NDArray[np.int64], spread: float | None = None) -> tuple[Numbers, Numbers]:
    """Return mean and sd of the final value by each candidate's own points; infinite where it diverged, NaN unseen.

    `spread` is the scale of differences between candidates; without it, that of the last values seen.
    """
    points = curves.shape[1]
    steps = np.arange(1, points + 1, dtype=np.float64)
    seen = steps[None, :] <= reached[:, None]
    diverged = np.asarray((seen & ~np.isfinite(curves)).any(axis=1), dtype=np.bool_)
    values = np.where(seen & ~diverged[:, None], curves, 0.0)
    latest = np.take_along_axis(values, np.maximum(reached - 1, 0)[:, None], axis=1)[:, 0]
    scale = spread if spread is not None else spread_of(latest[(reached > 0) & ~diverged])
    weights = np.where(seen, steps[None, :] ** RECENCY, 0.0)
    mean, variance = _averaged(values, weights, steps, reached, latest, scale)
    to_go = np.log(points / np.maximum(reached, 1))
    sd = np.sqrt(variance + scale**2 * (LEAST**2 + DOUBT**2 * to_go / np.log(max(points, 2))))
    done = reached == points
    mean, sd = np.where(done, latest, mean), np.where(done, scale * LEAST, sd)
    mean[diverged], sd[diverged] = np.inf, np.inf
    mean[reached == 0], sd[reached == 0] = np.nan, np.nan
    return mean, sd


def _averaged(
    values: Numbers,
    weights: Numbers,
    steps: Numbers,
    reached: NDArray[np.int64],
    latest: Numbers,
    scale: float,
) -> tuple[Numbers, Numbers]:
    """Return the mean of the family's forecasts, weighted by fit, and their variance around it."""
    forecasts, misfits = [], []
    total = np.maximum(weights.sum(axis=1), 1e-12)
    for exponent in EXPONENTS:
        basis = -np.log(steps) if exponent == 0 else steps**-exponent
        basis = basis / (basis[0] - basis[-1] or 1.0)  # one unit of scale is one unit of fall over the whole training
        centre = weights @ basis / total
        level = (weights * values).sum(axis=1) / total
        from_centre = basis[None, :] - centre[:, None]
        across = (weights * from_centre * (values - level[:, None])).sum(axis=1) / total
        along = (weights * from_centre**2).sum(axis=1) / total
        slope = across / (along + CALM**2 / np.maximum(reached, 1))
        residual = np.where(weights > 0, values - level[:, None] - slope[:, None] * from_centre, 0.0)
        misfits.append((weights * residual**2).sum(axis=1) / total)
        last = np.take_along_axis(residual, np.maximum(reached - 1, 0)[:, None], axis=1)[:, 0]
        forecasts.append(latest - last / 2 - slope * (basis[np.maximum(reached - 1, 0)] - basis[-1]))
    promised, misfit = np.stack(forecasts), np.stack(misfits)
    noise = misfit.min(axis=0) + (LEAST * scale) ** 2
    trust = np.exp(-0.5 * np.minimum(reached * (misfit - misfit.min(axis=0)) / noise, 50.0))
    trust = trust / trust.sum(axis=0)
    mean = (trust * promised).sum(axis=0)
    return mean, (trust * (promised - mean) ** 2).sum(axis=0) + noise


def spread_of(values: Numbers) -> float:
    """Return a robust spread of finite values: 0.74 of the range of the middle half, or what there is of one."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return max(abs(float(finite[0])) * 0.1, 1e-12) if len(finite) else 1.0
    lower, upper = np.quantile(finite, [0.25, 0.75])
    return float(max(0.74 * (upper - lower), 0.1 * finite.std(), 1e-9 * max(1.0, float(np.abs(finite).max()))))


def with_features(
    mean: Numbers, sd: Numbers, started: NDArray[np.bool_], reached: NDArray[np.int64], features: Numbers
) -> tuple[Numbers, Numbers]:
    """Return mean and sd that join each candidate's own curve with what the others' features say of it.

    The process learns capped values: a few hopeless candidates must not set the scale for all.
    """
    scale = spread_of(mean[started])
    centre = float(np.median(mean[started]))
    targets = np.clip((mean[started] - centre) / scale, -CAP, CAP)
    process = GaussianProcess.fitted(features[started], targets, NOISE + (sd[started] / scale) ** 2)
    told, told_sd = process.predict(features)
    told = centre + scale * told
    told_sd = scale * np.sqrt(told_sd**2 + process.amplitude**2 * NOISE)
    own = np.where(started, 1.0 / np.where(started, sd, 1.0) ** 2, 0.0)
    joint_sd = 1.0 / np.sqrt(own + 1.0 / told_sd**2)
    joint = (np.where(started, mean, 0.0) * own + told / told_sd**2) * joint_sd**2
    diverged = (reached > 0) & ~started
    joint[diverged], joint_sd[diverged] = np.inf, np.inf
    return joint, joint_sd
