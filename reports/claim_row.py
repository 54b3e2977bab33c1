"""A test of a paper's claim: a row of the table of claims."""

from dataclasses import dataclass

from reports.number_format import NOTHING, difference_text, fixed
from steeplechase.analysis.detectable import detectable_effect
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.estimates import Estimates
from steeplechase.configuration.claims import Claim, Sign

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
