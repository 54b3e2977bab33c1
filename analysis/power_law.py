"""A curve as a power law with a floor: value(t) = floor + scale * t^-exponent, with what is not known of it.

Hestness et al. 2017, arXiv 1712.00409, section 3. The exponent runs over a grid; at each the rest is a linear
regression with a flat prior, whose Student's t is averaged over the grid by its marginal likelihood.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from foundation.randomness import stream

EXPONENTS = np.geomspace(0.03, 2.0, 160)
EARLIEST_SHARE = 0.05
"""Points before this share of what has been seen are left out: the first steps follow another law."""
FEWEST_POINTS = 5
DRAWS = 2000

Points = Float[np.ndarray, "n"]


@dataclass(frozen=True)
class PowerLaw:
    """Draws of the law, each with the weight 1: floor, scale at the last point seen, exponent."""

    last: float
    floors: Points
    scales: Points
    exponents: Points
    noise: Points
    """What a single measurement is off by."""

    @classmethod
    def fit(cls, at: Points, values: Points, name: str) -> Self | None:
        """Return the law of falling values, None where there are too few points; `name` names the random stream."""
        kept = at >= EARLIEST_SHARE * at.max() if len(at) else np.array([], dtype=bool)
        at, values = at[kept], values[kept]
        if len(at) < FEWEST_POINTS:
            return None
        last = float(at.max())
        features = (at / last) ** -EXPONENTS[:, None]
        design = np.stack([np.ones_like(features), features], axis=-1)
        gram = np.swapaxes(design, 1, 2) @ design
        inverse = np.linalg.inv(gram)
        best = (inverse @ (np.swapaxes(design, 1, 2) @ values)[..., None])[..., 0]
        residual = np.sum((values - (design @ best[..., None])[..., 0]) ** 2, axis=1)
        degrees = len(at) - 2
        residual = np.maximum(residual, 1e-18 + 1e-12 * float(values @ values))
        log_weight = -degrees / 2 * np.log(residual) - np.linalg.slogdet(gram)[1] / 2
        log_weight = np.where(best[:, 1] >= 0, log_weight, log_weight - 1e3)  # a rising law only where none falls
        weight = np.exp(log_weight - log_weight.max())
        random = stream(0, f"power law {name}")
        chosen = random.choice(len(EXPONENTS), size=DRAWS, p=weight / weight.sum())
        spread = np.sqrt(residual[chosen] / random.chisquare(degrees, DRAWS))
        noise = np.linalg.cholesky(inverse)[chosen] @ random.normal(size=(DRAWS, 2, 1))
        drawn = best[chosen] + spread[:, None] * noise[..., 0]
        off = spread * random.normal(size=DRAWS)
        return cls(last, drawn[:, 0], drawn[:, 1], EXPONENTS[chosen], off)

    def at(self, tokens: Points) -> Float[np.ndarray, "draws n"]:
        """Return the values at numbers of tokens, a row per draw."""
        fallen = (tokens / self.last) ** -self.exponents[:, None]
        return np.asarray(self.floors[:, None] + self.scales[:, None] * fallen)
