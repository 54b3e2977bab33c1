"""A small Gaussian process for few candidates and many features: sums over single features and over pairs of them.

The additive kernel of Duvenaud, Nickisch and Rasmussen 2011 (Additive Gaussian Processes), first and second order in
equal parts. The effect of a feature is learnt from all candidates at once, which suits 20 to 100 candidates with
about ten features; there are no hyperparameters to tune, so a fit costs one factorisation. Features are in [0, 1],
targets are unbounded, and the variance that features do not explain is noise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Covariance = Callable[[Numbers, Numbers], Numbers]

LENGTH = 0.25  # length scale, as a share of a feature's range
NOISE = 0.3  # noise variance, relative to a signal variance of 1


@dataclass(frozen=True)
class GaussianProcess:
    """A fitted process: the measured candidates and the solved system."""

    features: Numbers
    """[measured, features]."""
    centre: float
    amplitude: float
    weights: Numbers
    """Solved targets [measured]."""
    whitening: Numbers
    """Inverse of the Cholesky factor of the measurements' covariance [measured, measured]."""
    covariance: "Covariance"

    @classmethod
    def fitted(
        cls, features: Numbers, targets: Numbers, noise: Numbers | float = NOISE, covariance: Covariance | None = None
    ) -> "GaussianProcess":
        """Fit features [measured, features] to targets [measured]; noise is a variance in units of the targets' own.

        The default covariance is `kernel`.
        """
        centre, amplitude = float(targets.mean()), float(targets.std()) or 1.0
        chosen = covariance or kernel
        measured = chosen(features, features)
        measured[np.diag_indices_from(measured)] += noise
        whitening = np.linalg.inv(np.linalg.cholesky(measured))
        weights = whitening.T @ (whitening @ ((targets - centre) / amplitude))
        return cls(features, centre, amplitude, weights, whitening, chosen)

    def expect(self, features: Numbers) -> Numbers:
        """Return only the mean [candidates], cheaper than `predict`."""
        return self.centre + self.amplitude * (self.covariance(features, self.features) @ self.weights)

    def predict(self, features: Numbers) -> tuple[Numbers, Numbers]:
        """Return mean and standard deviation at features [candidates, features], both [candidates]."""
        across = self.covariance(features, self.features)
        explained = ((across @ self.whitening.T) ** 2).sum(axis=1)
        mean = self.centre + self.amplitude * (across @ self.weights)
        return mean, self.amplitude * np.sqrt(np.maximum(1.0 - explained, 1e-6))


def kernel(one: Numbers, other: Numbers) -> Numbers:
    """Return the covariance [one, other]: half from single features, half from pairs; 1 for equal candidates."""
    width = one.shape[1]
    if width == 0:
        return np.zeros((len(one), len(other)))
    total, squares = np.zeros((len(one), len(other))), np.zeros((len(one), len(other)))
    for column in range(width):
        alike = np.exp(-0.5 * ((one[:, column, None] - other[None, :, column]) / LENGTH) ** 2)
        total += alike
        squares += alike**2
    if width == 1:
        return total
    return np.asarray(0.5 * total / width + 0.5 * (total**2 - squares) / (width * (width - 1)))


def smooth(one: Numbers, other: Numbers, length: float = 1.0) -> Numbers:
    """Return the covariance [one, other] of a function smooth in all features at once, for standardised features.

    The length is in units of the distance of two candidates that differ by one deviation in every feature.
    """
    squared = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None, :] - 2.0 * one @ other.T
    return np.asarray(np.exp(-0.5 * np.maximum(squared, 0.0) / (max(one.shape[1], 1) * length**2)))
