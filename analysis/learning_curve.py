"""Where a learning curve will end: power laws and a logarithm through its points, averaged, with their doubt.

The family is that of Domhan et al. 2015 (Speeding up automatic hyperparameter optimization by extrapolation of
learning curves) cut down to what few points can tell: value = floor + scale · step^-exponent for a few fixed
exponents, and value = floor + scale · log(step). Each is linear in two unknowns, so all are fitted at once.
Smaller values are better throughout. A curve that has met NaN or infinity is given up: its end is infinite.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.gaussian_process import NOISE, GaussianProcess
from analysis.power_law import powers, regress

Numbers = NDArray[np.float64]

EXPONENTS = np.array([0.0, 0.25, 0.5, 1.0])  # 0 is the logarithm, the slowest fall of the family
RECENCY = 0.7  # a point's weight is its step to this power: the last points tell most of what comes
SCALE_RIDGE = 0.05  # in units of the fall over a whole training: two points alone do not promise a fall
SD_PER_LOG_STEP = 0.35  # doubt per unit of log step still to go, in units of the spread between candidates
SMALLEST_SD = 1e-3  # in the same units: two finished curves that are level are not told apart by luck
LARGEST_TARGET = 3.0  # spreads from the middle beyond which candidates are all alike to the process over features


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


def extrapolate(curves: Numbers, reached: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Return mean and sd of the final value by a candidate's own points; infinite where it diverged, NaN unseen."""
    points = curves.shape[1]
    steps = np.arange(1, points + 1, dtype=np.float64)
    seen = steps[None, :] <= reached[:, None]
    diverged = np.asarray((seen & ~np.isfinite(curves)).any(axis=1), dtype=np.bool_)
    values = np.where(seen & ~diverged[:, None], curves, 0.0)
    latest = np.take_along_axis(values, np.maximum(reached - 1, 0)[:, None], axis=1)[:, 0]
    scale = spread_of(latest[(reached > 0) & ~diverged])
    weights = np.where(seen, steps[None, :] ** RECENCY, 0.0)
    mean, variance = _averaged(values, weights, steps, reached, latest, scale)
    to_go = np.log(points / np.maximum(reached, 1))
    sd = np.sqrt(variance + scale**2 * (SMALLEST_SD**2 + SD_PER_LOG_STEP**2 * to_go / np.log(max(points, 2))))
    done = reached == points
    mean, sd = np.where(done, latest, mean), np.where(done, scale * SMALLEST_SD, sd)
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
    basis = powers(steps, EXPONENTS)
    fall = basis[:, 0] - basis[:, -1]
    basis = (
        basis / np.where(fall, fall, 1.0)[:, None]
    )  # one unit of scale is one unit of fall over the whole training
    fits = regress(values, weights, basis, SCALE_RIDGE**2 / np.maximum(reached, 1))
    total = np.maximum(weights.sum(axis=1), 1e-12)
    misfit = (weights * fits.residuals**2).sum(axis=-1) / total
    last = np.maximum(reached - 1, 0)
    off = np.take_along_axis(fits.residuals, last[None, :, None], axis=2)[..., 0]
    forecasts = latest - off / 2 - fits.scale * (basis[:, last] - basis[:, -1:])
    noise = misfit.min(axis=0) + (SMALLEST_SD * scale) ** 2
    trust = np.exp(-0.5 * np.minimum(reached * (misfit - misfit.min(axis=0)) / noise, 50.0))
    trust = trust / trust.sum(axis=0)
    mean = (trust * forecasts).sum(axis=0)
    return mean, (trust * (forecasts - mean) ** 2).sum(axis=0) + noise


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
    targets = np.clip((mean[started] - centre) / scale, -LARGEST_TARGET, LARGEST_TARGET)
    process = GaussianProcess.fitted(features[started], targets, NOISE + (sd[started] / scale) ** 2)
    by_features, features_sd = process.predict(features)
    by_features = centre + scale * by_features
    features_sd = scale * np.sqrt(features_sd**2 + process.amplitude**2 * NOISE)
    own = np.where(started, 1.0 / np.where(started, sd, 1.0) ** 2, 0.0)
    joint_sd = 1.0 / np.sqrt(own + 1.0 / features_sd**2)
    joint = (np.where(started, mean, 0.0) * own + by_features / features_sd**2) * joint_sd**2
    diverged = (reached > 0) & ~started
    joint[diverged], joint_sd[diverged] = np.inf, np.inf
    return joint, joint_sd
