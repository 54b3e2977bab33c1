"""When training curves leave their first plateau: change-point regression with one level for all curves.

A language model first learns how frequent tokens are. Until it learns more from their neighbours, its loss stays at
the level of a model without context. A curve is modelled as

    loss(t) = level                                           up to the exit,
              level - drop * (1 - (t / exit)^-exponent)       from the exit on,

a power law with a floor that begins at a change point (segmented regression, Quandt 1958, JASA 53, 873). The exit,
exponent and drop are a curve's own, by least squares over every recorded point as the exit; the level is the mean of
the points on all plateaus. Points before a curve first reaches the level are not counted. BIC (Schwarz 1978) decides
whether a curve has left the level and whether it stayed there at all. No threshold and no window is set by hand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from steeplechase.analysis.shapes import Float

EXPONENTS = np.geomspace(0.1, 8.0, 12)
"""From almost a logarithm to almost a step."""
POINTS_AT_MOST = 200
"""Longer curves are averaged to so many points."""
FEWEST_POINTS = 20
QUANTILES = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Of all losses: levels to start from, the highest first."""
ROUNDS = 50

Points = Float[np.ndarray, "n"]
Curve = Mapping[int, float]
"""Loss by tokens seen."""


@dataclass(frozen=True)
class Plateau:
    """The plateau that some curves share."""

    level: float
    """Loss of the points on it."""
    exits: Mapping[str, float | None]
    """By curve, the tokens at which it leaves the level; None where it has not left it."""
    on_plateau: frozenset[str]
    """Curves that stay at the level for some time rather than passing through it."""


def plateau_of(curves: Mapping[str, Curve]) -> Plateau | None:
    """Return the plateau of training curves; None where no curve has one, or all are shorter than 20 points."""
    models = dict(_models(curves))
    if not models:
        return None
    highest_first = np.quantile(np.concatenate([model.losses for model in models.values()]), QUANTILES)
    settled = (_settled(models, level) for level in highest_first.tolist())
    return next((plateau for plateau in settled if plateau is not None), None)


def _settled(models: Mapping[str, "_ChangePoint"], level: float) -> Plateau | None:
    """Return the plateau that mean and exits settle on from a level; None where no curve stays near it."""
    fits_at = cache(lambda level: {name: model.fit(level) for name, model in models.items()})  # levels may alternate
    for further in reversed(range(ROUNDS)):
        fits = fits_at(level)
        staying = {name: fit for name, fit in fits.items() if fit.lingers}
        if not staying:
            return None
        mean = float(np.concatenate([models[name].losses[fit.on_plateau] for name, fit in staying.items()]).mean())
        if abs(mean - level) <= 1e-9 * abs(level) or not further:
            break  # where levels alternate, exits are those of the last one
        level = mean
    exits = {name: float(models[name].tokens[fit.exit]) if fit.leaves else None for name, fit in fits.items()}
    return Plateau(level, exits, frozenset(staying))


def _models(curves: Mapping[str, Curve]) -> Iterator[tuple[str, "_ChangePoint"]]:
    """Yield a model of every curve that is long enough; curves with points at the same tokens share their shapes."""
    shapes: dict[bytes, _Shapes] = {}
    for name, curve in curves.items():
        if len(curve) >= FEWEST_POINTS:
            tokens, losses = _averaged(curve)
            if tokens.tobytes() not in shapes:
                shapes[tokens.tobytes()] = _Shapes.at(tokens)
            shared = shapes[tokens.tobytes()]
            yield name, _ChangePoint(tokens, losses, shared, shared.shares @ losses)


@dataclass(frozen=True)
class _Fit:
    start: int
    """The first point at or below the level."""
    exit: int
    """The last point on the plateau."""
    leaves: bool
    lingers: bool

    @property
    def on_plateau(self) -> slice:
        """The indices of the points from the start of the plateau to the exit."""
        return slice(self.start, self.exit + 1)


@dataclass(frozen=True)
class _Shapes:
    """The share of the drop at every point by exponent and exit: 0 up to the exit, then 1 - (t / exit)^-exponent."""

    shares: Float[np.ndarray, "exponents exits n"]
    sums: Float[np.ndarray, "exponents exits"]
    squares: Float[np.ndarray, "exponents exits"]

    @classmethod
    def at(cls, tokens: Points) -> "_Shapes":
        """Return the shapes of curves with points at `tokens`."""
        beyond = np.log(np.maximum(tokens[None, :] / tokens[:-2, None], 1.0))
        shares = 1.0 - np.exp(-EXPONENTS[:, None, None] * beyond)
        return cls(shares, shares.sum(axis=2), (shares**2).sum(axis=2))


@dataclass(frozen=True)
class _ChangePoint:
    """Least squares of one curve for a given level: linear in the drop, so every exit and exponent is tried."""

    tokens: Points
    losses: Points
    shapes: _Shapes
    products: Float[np.ndarray, "exponents exits"]
    """The shapes' inner products with the losses."""

    def fit(self, level: float) -> _Fit:
        """Return the best exit; a curve above the level throughout has not left it."""
        below = self.losses <= level
        count, start = len(self.losses), int(np.argmax(below))
        if not below.any() or start >= self.shapes.squares.shape[1]:
            return _Fit(start, count - 1, leaves=False, lingers=not below.any())
        gained = self._gained(level)[start:]
        best, points = int(gained.argmax()), count - start
        flat = float(((self.losses[start:] - level) ** 2).sum())
        leaves = _bic_gain(flat, flat - gained[best], points) > 3 * np.log(points)  # exit, exponent and drop
        lingers = not leaves or _bic_gain(flat - gained[0], flat - gained[best], points) > np.log(points)  # the exit
        return _Fit(start, start + best if leaves else count - 1, bool(leaves), bool(lingers))

    def _gained(self, level: float) -> Float[np.ndarray, "exits"]:  # noqa: F821
        """Return by exit how much of the squared distance from the level the best drop and exponent explain."""
        along = level * self.shapes.sums - self.products
        explained = along**2 / np.maximum(self.shapes.squares, 1e-300)
        return np.asarray(np.where(along > 0, explained, 0.0).max(axis=0))


def _bic_gain(without: float, with_more: float, points: int) -> float:
    """Return by how much twice the log-likelihood grows with further parameters."""
    smallest = 1e-12 * max(without, 1e-300)
    return points * float(np.log(max(without, smallest) / max(with_more, smallest)))


def _averaged(curve: Curve) -> tuple[Points, Points]:
    """Return the points in order; of many, means of neighbours."""
    tokens = np.array(sorted(curve), dtype=float)
    losses = np.array([curve[int(at)] for at in sorted(curve)], dtype=float)
    if len(tokens) <= POINTS_AT_MOST:
        return tokens, losses
    return _means_of_neighbours(tokens), _means_of_neighbours(losses)


def _means_of_neighbours(values: Points) -> Points:
    """Return the means of `POINTS_AT_MOST` parts, of which the first ones are longer by a value."""
    shorter, longer = divmod(len(values), POINTS_AT_MOST)
    ends = longer * (shorter + 1)
    parts = (values[:ends].reshape(longer, shorter + 1), values[ends:].reshape(-1, shorter))
    return np.concatenate([part.mean(axis=1) for part in parts])
