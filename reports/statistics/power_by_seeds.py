"""The power to judge a claim by the number of seeds, and the number that would decide it."""

from dataclasses import dataclass
from math import isfinite

from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.power import POWER, power_of_t, power_of_t_within, seeds_needed
from steeplechase.configuration.claims import Claim

WITHOUT_LIMIT = 10**6
"""A number of seeds whose own variance is next to none."""


@dataclass(frozen=True)
class PowerBySeeds:
    """The power to judge a claim with other numbers of seeds, if the true difference and variances are the observed.

    Power to support the claim where the observed difference is in its bounds, else to contradict it. What the
    examples add to the variance stays: more seeds answer the same examples, which are so many that only the seeds
    limit the degrees of freedom.
    """

    claim: Claim
    found: Estimates
    seeds: int
    """Of the arm that has fewer, or pairs."""
    level: float
    over_seeds: Estimates | None = None
    """The estimate over seeds alone, where `found` is over examples as well."""

    @property
    def known(self) -> bool:
        """Whether there are two seeds with a spread."""
        return self.seeds > 1 and bool(self.found.standard_error.item() > 0)

    def at(self, seeds: int) -> float:
        """Return the power with so many seeds of both arms."""
        alone = self.found
        if self.over_seeds is not None and self.over_seeds.standard_error.item() > 0:
            alone = self.over_seeds
        of_examples = max(0.0, self.found.standard_error.item() ** 2 - alone.standard_error.item() ** 2)
        of_seeds = alone.standard_error.item() ** 2 * self.seeds / seeds
        variance = of_seeds + of_examples
        low, high = ((bound - self.found.value.item()) / variance**0.5 for bound in self.claim.bounds)
        free = alone.degrees.item() * (seeds - 1) / (self.seeds - 1) * (variance / of_seeds) ** 2
        if low <= 0 <= high and isfinite(high - low):
            return power_of_t_within(low, high, free, self.level)
        return power_of_t(min(abs(low), abs(high)), free, self.level)

    @property
    def seeds_needed(self) -> int | None:
        """The seeds of both arms for 80% power; None if more than a hundred, or if no spread is known."""
        return seeds_needed(self.at, self.seeds + 1) if self.known else None

    @property
    def limited_by_examples(self) -> bool:
        """Whether no number of seeds would give 80% power on these examples."""
        return self.known and self.at(WITHOUT_LIMIT) < POWER
