"""A test of a paper's claim: a row of the table of claims."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import isfinite

from reports.number_format import NOTHING, difference_text, fixed, short
from reports.statistics.results import Results
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.power import POWER, detectable_effect, power_of_t, power_of_t_within, seeds_needed
from steeplechase.configuration.claims import Claim, Sign
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import TokensResult

NOT_RUN = "not run"
TOO_MANY_SEEDS = "more than 100 seeds would be needed"
EXAMPLES_LIMIT = f"{TOO_MANY_SEEDS}, and more examples"
"""The sampling error of the examples alone leaves it undecided."""


@dataclass(frozen=True)
class ClaimRow:
    """One test of a claim of a paper at one scale: a row of the table."""

    claim: str
    """Id of the paper's claim."""
    experiment: str
    """The experiment with its scale."""
    metric: str
    test: str
    verdict: str
    scope: str = ""
    """The models and the training that the verdict is about; empty where nothing was run."""
    n: int | None = None
    replicates: str = ""
    """What n counts, where it is not pretraining seeds."""
    difference: str = NOTHING
    detectable: str = NOTHING
    caveats: tuple[str, ...] = ()
    departure: str = ""
    """What the test has in place of the paper's setting."""
    estimate: Estimates | None = None
    """Of the difference, over pretraining seeds or search seeds."""


def judged(
    claim: Claim, verdict: str, found: Estimates, difference: Difference, level: float, decimals: int
) -> ClaimRow:
    """Return the row of a claim that was tested at a level, without its paper and experiment."""
    detectable = detectable_effect(found.standard_error.item(), found.degrees.item(), level)
    return ClaimRow(
        claim="",
        experiment="",
        metric=claim.metric,
        test=shown_claim(claim),
        verdict=verdict,
        n=difference.n,
        difference=difference_text(difference, decimals),
        detectable=NOTHING if detectable is None else fixed(detectable.value, decimals),
        estimate=found,
    )


def shown_claim(claim: Claim) -> str:
    """Return what is tested of a claim's metric, as code."""
    size = f" {'within' if claim.sign is Sign.LEVEL else 'by'} {claim.size:g}" if claim.size else ""
    return f"`{claim.first} {claim.sign} {claim.second}{size}`"


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


def scope_text(results: Results, arms: Collection[str]) -> str:
    """Return `236k parameters, 16M tokens (2 passes over the text), masked language model` for the named arms."""
    rows = [arm for arm in results.arms if arm.name in arms]
    sizes = _from_to(short(size) for size in sorted({arm.parameters for arm in rows}))
    objectives = dict.fromkeys(arm.candidate.objective.name for arm in rows)
    passes = passes_text(results, arms)
    read = f" ({passes} {'pass' if passes == '1' else 'passes'} over the text)" if passes else ""
    return f"{sizes} parameters, {tokens_text(results, arms)} tokens{read}, {', '.join(objectives)}"


def tokens_text(results: Results, arms: Collection[str]) -> str:
    """Return the pretraining tokens of the named arms, the lowest and the highest where they differ: `8M to 64M`."""
    return _from_to(map(short, _tokens(results, arms)))


def passes_text(results: Results, arms: Collection[str]) -> str:
    """Return how often the named arms read the training text, to two digits; empty before it is encoded."""
    encoded = [result.train.tokens for _, result in with_results(results.snapshot.shared, TokensResult)]
    return _from_to(f"{tokens / encoded[-1]:.2g}" for tokens in _tokens(results, arms)) if encoded else ""


def _tokens(results: Results, arms: Collection[str]) -> list[int]:
    budget = results.experiment.pretraining.tokens
    return sorted({arm.candidate.recipe.own_tokens(budget) for arm in results.arms if arm.name in arms})


def _from_to(texts: Iterable[str]) -> str:
    """Return the first and the last text, or the only one."""
    first, *others = dict.fromkeys(texts)
    return f"{first} to {others[-1]}" if others else first
