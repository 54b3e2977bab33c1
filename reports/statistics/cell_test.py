"""The data of one test, an arm on a metric, and its estimate over seeds or over seeds and examples."""

from dataclasses import dataclass
from functools import cached_property
from statistics import variance

from reports.statistics.metrics import Metric
from steeplechase.analysis.difference import MeanTest, SeedValues
from steeplechase.analysis.effects import differences_of, estimate, wider
from steeplechase.analysis.estimates import Estimates

SEEDS_AND_EXAMPLES = "seeds_and_examples"
"""The test by the two-way analysis of variance, named as the test where its 95% interval is the wider."""


@dataclass(frozen=True)
class CellTest:
    """The data of one test: an arm on a metric."""

    metric: Metric
    values: SeedValues
    baseline: SeedValues
    margin: float | None = None
    share: float = 1.0
    """Share of α spent at this look, and left to means where it is also tested how many seeds learn."""
    test: MeanTest = MeanTest.WELCH
    over_examples: Estimates | None = None
    """The difference over seeds and examples, where the values of examples were kept."""
    not_testable: bool = False
    """Whether no difference is claimed: the task is below a reference, or an arm has not begun to learn."""

    @cached_property
    def estimate(self) -> Estimates:
        """The difference as an estimate of one cell: the wider of over seeds, and over seeds and examples."""
        return wider(self._over_seeds, self.over_examples)

    @cached_property
    def _over_seeds(self) -> Estimates:
        return estimate(self.values, self.baseline, self.test)

    @property
    def deciding(self) -> str:
        """The name of the test that the estimate, its interval and its p are of."""
        taken = self.estimate.standard_error.item(), self.estimate.degrees.item()
        over_seeds = self._over_seeds.standard_error.item(), self._over_seeds.degrees.item()
        return str(self.test) if self.over_examples is None or taken == over_seeds else SEEDS_AND_EXAMPLES

    @property
    def differences(self) -> list[float]:
        """The paired differences by seed."""
        return differences_of(self.values, self.baseline)

    @property
    def seeds(self) -> int:
        """Number of pairs; unpaired, the number of seeds of the arm that has fewer."""
        return len(self.differences) if self.test is MeanTest.PAIRED else min(len(self.values), len(self.baseline))

    def spent(self, p: float | None) -> float | None:
        """Return a p divided by the share of α."""
        return None if p is None else min(1.0, p / self.share)

    def at(self, seeds: int) -> tuple[float, float]:
        """Return the standard error and degrees of freedom with so many seeds per arm and the observed variances.

        What the examples add to the variance of the difference stays: more seeds answer the same examples, which are
        so many that only the seeds limit the degrees of freedom.
        """
        samples = (
            [self.differences] if self.test is MeanTest.PAIRED else [self.values.values(), self.baseline.values()]
        )
        terms = [variance(sample) for sample in samples]
        now = sum(term / len(sample) for term, sample in zip(terms, samples, strict=True))
        of_examples = max(0.0, self.estimate.standard_error.item() ** 2 - now)
        variance_then = sum(terms) / seeds + of_examples
        shares = [term / seeds / variance_then for term in terms] if sum(terms) > 0 else [1.0]
        return variance_then**0.5, (seeds - 1) / sum(share**2 for share in shares)
