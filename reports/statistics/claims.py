"""Tests of the experiment's claims and of the paper's statements, in words for this size, with power.

A claim says that a difference lies between two bounds, one of them often infinite. It is supported where "outside the
bounds" is rejected, contradicted where "inside" is. Exactly one of the two hypotheses is true, so a claim can be
judged wrongly in one way only. The probability is that of the claim given the values, for normal populations and a
flat prior: the t distribution around the difference.

All claims and orderings of a study, whichever file they are in, are one family (`judged_claims`). Holm's correction
over the supports and over the contradictions, each at half of alpha, keeps the probability of any wrong verdict at
alpha or below, for any dependence; with one claim on a direction this is the interval at 1 - alpha inside or outside
the bounds. The outcome of each by itself is kept beside the corrected one.

Where fewer than two seeds of an arm have begun to learn, a claim that one loss is lower is tested on how many have,
by Fisher's exact test; where that could be significant, it and the test of means have half of the level each. A claim
is not tested on a task below a reference, and else on an arm that has not begun to learn; an ordering of the paper
not on the held-out loss of arms of different objectives; one of "about level" has no support where a difference
within its margin could hardly be shown, and may be contradicted. What is not tested counts in the family, as does a
claim whose arms have not run yet: results decide which claims are tested. An ordering is tested on the metrics that
`paper.metrics` names, else on every headline metric.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

from reports.statistics.arm_costs import costs_of
from reports.statistics.experiment import paper_margins_of
from reports.statistics.learning import Learning, pair_that_may_differ
from reports.statistics.metrics import Metric, below_reference_text, in_place_of_score
from reports.statistics.results import Results
from steeplechase.analysis.difference import ALPHA, Difference
from steeplechase.analysis.distributions import t_below
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.paired import holm
from steeplechase.analysis.power import power_of_t, power_of_t_within
from steeplechase.analysis.proportions import fisher_tails
from steeplechase.configuration.claims import Claim, Sign, parse_orderings
from steeplechase.configuration.metrics import COSTS, HELD_OUT_LOSS, SCORE

EXPERIMENT, PAPER = "experiment", "paper"
FEWEST_POWER = 0.5
"""The power below which a claim of "about level" has no support: a true difference of 0 could hardly be shown."""


@dataclass(frozen=True)
class ClaimTest:
    """The p of both hypotheses on one claim, one-sided, or twice that after the correction; None where unknown."""

    outside: float | None
    """Of "the true value is outside the bounds": small where the claim is supported."""
    inside: float | None
    """Of "the true value is inside the bounds": small where it is contradicted."""


NO_TEST = ClaimTest(None, None)


class ClaimOutcome(StrEnum):
    """The outcome of testing a claim, of models of the size and training that the report is about."""

    SUPPORTED = "as stated here"
    CONTRADICTED = "opposite here"
    UNDECIDED = "open here"
    NOT_TESTED = "not testable at this size"
    """The claim is on a task below a reference (`ledger/task_standing.py`), on an arm of which fewer than two seeds
    have begun to learn (`statistics/learning.py`), or of "about level" with a power below one half, not opposite."""


@dataclass(frozen=True)
class TestedClaim:
    """A claim with its test, not yet corrected for the other claims; None with too few seeds."""

    __test__ = False  # no test case

    claim: Claim
    by: str
    """Who states it: experiment or paper."""
    text: str
    """The text under which it was added."""
    difference: Difference
    test: ClaimTest = NO_TEST
    pointwise: ClaimOutcome = ClaimOutcome.UNDECIDED
    """The outcome without correction: whether the 95% interval lies inside or outside of what is claimed; not tested
    where the claim is not."""
    probability: float | None = None
    power: float | None = None
    """Probability of supporting the claim, without correction, with this n and these variances if the true difference
    has the claimed size; for `~`, if the true difference is 0. None where the claim has no size."""
    reason: str = ""
    """Why the claim is not tested, or cannot be supported."""
    on_learning: bool = False
    """Whether it is tested on how many seeds of its arms learn; `reason` has the numbers."""

    @property
    def is_random(self) -> bool:
        """Whether the claim is a test: what an arm costs has no spread."""
        return self.claim.metric not in COSTS

    @property
    def key(self) -> tuple[str, Difference, str]:
        """What makes it one test: the claim with the difference that it is tested on, and why it is not."""
        return str(self.claim), self.difference, self.reason


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its outcome within its family."""

    tested: TestedClaim
    corrected: ClaimTest
    """The p of its support and of its contradiction within the family."""

    @property
    def outcome(self) -> ClaimOutcome:
        """The outcome after the correction for all claims of the family."""
        if self.tested.pointwise is ClaimOutcome.NOT_TESTED:
            return ClaimOutcome.NOT_TESTED
        supported, contradicted = (p is not None and p <= ALPHA for p in astuple(self.corrected))
        if supported or contradicted:
            return ClaimOutcome.SUPPORTED if supported else ClaimOutcome.CONTRADICTED
        return ClaimOutcome.NOT_TESTED if self.tested.reason else ClaimOutcome.UNDECIDED


def family_of(claims: Sequence[TestedClaim], of_study: Sequence[TestedClaim] = ()) -> tuple[JudgedClaim, ...]:
    """Return the claims of one family, corrected for each other, in their order.

    `of_study` are claims in other files of the same study: a study is the experiments that declare one name, and its
    claims are one family, whichever file they are in. A claim that is stated twice is one test.
    """
    tests = {each.key: each.test for each in (*claims, *of_study) if each.is_random}
    found = dict(zip(tests, corrected([*tests.values()]), strict=True))
    return tuple(JudgedClaim(each, found.get(each.key, each.test)) for each in claims)


def judged_claims(results: Results, of_study: Sequence[TestedClaim] = ()) -> tuple[JudgedClaim, ...]:
    """Return every claim and every ordering of the paper, corrected for each other and for those of `of_study`."""
    return family_of([*tested_claims(results)], of_study)


def tested_claims(results: Results) -> Iterator[TestedClaim]:
    """Yield every claim and every ordering of the paper; undecided if an arm is missing.

    Of tuned arms each is tested at its own recipe, once tuning has selected it.
    """
    for by, text, claim in stated_claims(results):
        yield _tested(results.own_recipes or results, by, text, claim)


def stated_claims(results: Results) -> Iterator[tuple[str, str, Claim]]:
    """Yield the source (experiment or paper), the text under which it was added, and the claim."""
    for declared in results.experiment.claims:
        claim = on_the_single_task(declared, results.experiment.fine_tuning.tasks)
        yield EXPERIMENT, str(declared), claim
    paper, margins = results.experiment.paper, paper_margins_of(results.experiment)
    for chain in paper.orderings if paper else ():
        for ordering in parse_orderings(chain):
            for metric in metrics_of_paper(results):
                stated = ordering.on(metric.name, metric.lower_is_better, margins.get(metric.name))
                yield PAPER, f"paper: {chain}", stated


def metrics_of_paper(results: Results) -> tuple[Metric, ...]:
    """Return the metrics that the paper's orderings are tested on; a single task's replaces the score."""
    paper, tasks = results.experiment.paper, results.experiment.fine_tuning.tasks
    named = dict.fromkeys(in_place_of_score(name, tasks) for name in (paper.metrics if paper else ()))
    return tuple(map(Metric, named)) or results.headlines


def on_the_single_task(claim: Claim, tasks: Sequence[str]) -> Claim:
    """Return a claim on the score as one on the task where there is a single one, whose metric replaces the score."""
    return claim.model_copy(update={"metric": in_place_of_score(claim.metric, tasks)})


def _tested(results: Results, by: str, text: str, claim: Claim) -> TestedClaim:
    if not {claim.first, claim.second} <= results.values.keys():
        return TestedClaim(claim, by, text, Difference())
    if claim.metric in COSTS:
        return _of_costs(results, by, text, claim)
    metric = Metric(claim.metric)
    alpha = 1 - max(results.confidence(claim.first), results.confidence(claim.second))
    pair = pair_that_may_differ(claim.arms, results.learning) if claim.metric == HELD_OUT_LOSS else []
    alpha *= 0.5 if pair else 1.0
    difference = results.difference(claim.first, claim.second, metric)
    if reason := _untestable(results, claim) or (by == PAPER and _of_other_objectives(results, claim)):
        untested = TestedClaim(claim, by, text, difference, pointwise=ClaimOutcome.NOT_TESTED, reason=reason)
        few = any(results.too_few_learn(arm, claim.metric) for arm in claim.arms)
        is_order = claim.sign is not Sign.LEVEL and not claim.size
        return _on_learning(untested, pair, alpha) if few and pair and is_order else untested
    found = results.estimate(claim.first, claim.second, metric)
    return decide(claim, found, difference, alpha, by, text)


def _untestable(results: Results, claim: Claim) -> str:
    """Return why no difference of these arms on this metric can be claimed; empty where one can."""
    metric, partly = Metric(claim.metric), results.partly_learning
    of_no_task = metric.name == SCORE and not results.scored_tasks
    if metric.task in results.below_reference or of_no_task:
        return below_reference_text(metric)
    few = [f"{arm} {partly[arm]}" for arm in claim.arms if results.too_few_learn(arm, claim.metric)]
    return f"seeds that left the plateau: {', '.join(few)}" if few else ""


def _on_learning(untested: TestedClaim, pair: Sequence[Learning], alpha: float) -> TestedClaim:
    """Return the claim that one loss is lower by how many seeds of both arms left the plateau of the loss."""
    first, second = ((each.left, each.seeds) for each in pair)
    tails = fisher_tails(first, second)
    outside, inside = (p * ALPHA / alpha for p in (tails if untested.claim.sign is Sign.BELOW else tails[::-1]))
    outcome = ClaimOutcome.SUPPORTED if outside <= inside else ClaimOutcome.CONTRADICTED
    pointwise = outcome if min(outside, inside) <= ALPHA / 2 else ClaimOutcome.UNDECIDED
    reason = f"seeds that left the plateau, by Fisher's test: {pair[0]} against {pair[1]}"
    test = ClaimTest(min(1.0, outside), min(1.0, inside))
    return replace(untested, test=test, pointwise=pointwise, reason=reason, on_learning=True)


def _of_other_objectives(results: Results, claim: Claim) -> str:
    """Return why an ordering of the paper is none of the held-out loss: that of one objective; empty elsewhere."""
    arms = {arm.name: arm.candidate for arm in results.arms if arm.name in claim.arms}
    if claim.metric != HELD_OUT_LOSS or len({arm.objective for arm in arms.values()}) == 1:
        return ""
    return "the arms are trained on different objectives, and the loss is that of one"


def _of_costs(results: Results, by: str, text: str, claim: Claim) -> TestedClaim:
    """Return a claim about costs, which have no spread: it is true or false, with p 0 of the other."""
    costs = {arm.name: float(getattr(costs_of(results, arm), claim.metric)) for arm in results.arms}
    delta = costs[claim.first] - costs[claim.second]
    low, high = claim.bounds
    holds = low < delta < high or (claim.sign is Sign.LEVEL and delta == 0)
    test = ClaimTest(0.0, None) if holds else ClaimTest(None, 0.0)
    outcome = ClaimOutcome.SUPPORTED if holds else ClaimOutcome.CONTRADICTED
    return TestedClaim(claim, by, text, Difference(1, delta, delta, delta), test, outcome, float(holds), None)


def decide(
    claim: Claim, found: Estimates, difference: Difference, alpha: float = ALPHA, by: str = EXPERIMENT, text: str = ""
) -> TestedClaim:
    """Return the test of a claim from the difference, first minus second, at the level `alpha` of this look."""
    low, high, error, degrees = difference.low, difference.high, found.standard_error.item(), found.degrees.item()
    if low is None or high is None or not error > 0:
        return TestedClaim(claim, by, text, difference)
    from_, to = claim.bounds
    share = alpha / ALPHA  # of α, spent at this look
    sized = claim.sign is not Sign.LEVEL or bool(claim.size)  # without a margin, equivalence has no probability
    below = [float(t_below((bound - found.value.item()) / error, degrees)) for bound in (from_, to)]
    if claim.sign is Sign.LEVEL:
        chance = power_of_t_within(-claim.size / error, claim.size / error, degrees, alpha) if claim.size else 0.0
    else:
        chance = power_of_t(claim.size / error, degrees, alpha)
    tested = TestedClaim(
        claim=claim,
        by=by,
        text=text,
        difference=difference,
        test=ClaimTest(*(p and min(1.0, p / share) for p in astuple(claim_test(found, from_, to)))),
        pointwise=_pointwise(claim, low, high),
        probability=below[1] - below[0] if sized else None,
        power=chance if claim.size else None,
    )
    return _without_support(tested) if claim.sign is Sign.LEVEL and chance < FEWEST_POWER else tested


def _without_support(level: TestedClaim) -> TestedClaim:
    """Return a claim of "about level" that these seeds could hardly support: contradicted, or not tested."""
    size, chance = level.claim.size, level.power
    reason = "without a margin it cannot be supported"
    if chance is not None:
        reason = f"power {100 * chance:.0f}% of showing a difference within {size:g}"
    is_opposite = level.pointwise is ClaimOutcome.CONTRADICTED
    pointwise = ClaimOutcome.CONTRADICTED if is_opposite else ClaimOutcome.NOT_TESTED
    return replace(level, test=replace(level.test, outside=None), pointwise=pointwise, reason=reason)


def _pointwise(claim: Claim, low: float, high: float) -> ClaimOutcome:
    from_, to = claim.bounds
    if from_ <= low and high <= to and not (low <= 0 <= high and claim.sign is not Sign.LEVEL):
        return ClaimOutcome.SUPPORTED
    return ClaimOutcome.CONTRADICTED if high < from_ or low > to else ClaimOutcome.UNDECIDED


def claim_test(difference: Estimates, low: float, high: float) -> ClaimTest:
    """Return the test of "the difference lies between low and high", from an estimate of one cell."""
    above, below = ([p(bound).item() for bound in (low, high)] for p in (difference.p_above, difference.p_below))
    outside, inside = max(above[0], below[1]), min(sum(above), sum(below))
    # exact for an interval: at one end both ends are errors
    return ClaimTest(None, None) if math.isnan(inside) else ClaimTest(outside, min(1.0, inside))


def corrected(tests: Sequence[ClaimTest]) -> tuple[ClaimTest, ...]:
    """Return the tests of a family, corrected for each other, in their order: p to be compared with alpha.

    A hypothesis without a p is counted, and has none after the correction.
    """
    sides = ([each.outside for each in tests], [each.inside for each in tests])
    return tuple(ClaimTest(*both) for both in zip(*map(_side, sides), strict=True))


def _side(p_values: Sequence[float | None]) -> list[float | None]:
    counted = holm([1.0 if p is None else p for p in p_values])
    return [p and min(1.0, 2 * (after or 0.0)) for p, after in zip(p_values, counted, strict=True)]
