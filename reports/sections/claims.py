"""Tests of the experiment's claims and of the paper's statements: supported, contradicted or undecided, with power.

An ordering of the paper is tested on every headline metric. The probability is that of the claim given the
differences, for a normal population of paired differences and a flat prior: Student's t around their mean.
A claim is supported if the 95% interval lies within the claimed range.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import stdev

from analysis.distributions import t_below
from analysis.effects import Difference, differences_of
from analysis.paired import ALPHA, vary
from analysis.power import power, power_within
from configuration.claims import Claim, Sign, parse_orderings
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, fixed
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.sections.post_hoc_additions import added_text
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, number, table
from search_space.released.differences import option_departures

COLUMNS = "claim by metric verdict probability power n delta low high afterwards departure"
EXPERIMENT, PAPER = "experiment", "paper"


class ClaimOutcome(StrEnum):
    """The outcome of testing a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ClaimVerdict:
    """The outcome of testing a claim with its evidence; None with too few seeds."""

    outcome: ClaimOutcome
    difference: Difference
    probability: float | None
    power: float | None
    """Probability of supporting the claim with this n and sd if the true difference has the claimed size; for `~`, if
    the true difference is 0. None where the claim has no size."""


def decide(claim: Claim, differences: list[float], difference: Difference, alpha: float = ALPHA) -> ClaimVerdict:
    """Return the outcome for a claim from the paired differences, first minus second."""
    low, high = difference.low, difference.high
    if low is None or high is None or not vary(differences):
        return ClaimVerdict(ClaimOutcome.UNDECIDED, difference, None, None)
    from_, to = claim.bounds
    outcome = ClaimOutcome.UNDECIDED
    if from_ <= low and high <= to and not (low <= 0 <= high and claim.sign is not Sign.LEVEL):
        outcome = ClaimOutcome.SUPPORTED
    elif high < from_ or low > to:
        outcome = ClaimOutcome.CONTRADICTED
    sd, n = stdev(differences), len(differences)
    shares = [float(t_below((bound - (difference.delta or 0.0)) * n**0.5 / sd, n - 1)) for bound in (from_, to)]
    if claim.sign is Sign.LEVEL:
        chance = power_within(0.0, claim.size, sd, n, alpha)
        if not claim.size:  # without a margin, equivalence has no probability
            return ClaimVerdict(outcome, difference, None, None)
    else:
        chance = power(claim.size, sd, n, alpha)
    return ClaimVerdict(outcome, difference, shares[1] - shares[0], chance if claim.size else None)


def claims_table(results: Results) -> Table:
    """Return every claim and every ordering of the paper with its outcome; undecided if an arm is missing."""
    return table("claims", COLUMNS, _rows(results))


def _stated(results: Results) -> Iterator[tuple[str, str, Claim]]:
    """Yield the source (experiment or paper), the text under which it was added, and the claim."""
    for claim in results.experiment.claims:
        yield EXPERIMENT, str(claim), claim
    paper = results.experiment.paper
    for chain in paper.orderings if paper else ():
        for ordering in parse_orderings(chain):
            for metric in results.headlines:
                margin = paper.margins.get(metric.name) if paper else None
                yield PAPER, f"paper: {chain}", ordering.on(metric.name, metric.lower_is_better, margin)


def _rows(results: Results) -> Iterator[Row]:
    for by, text, claim in _stated(results):
        verdict = _verdict_on(results, claim)
        yield {
            "claim": str(claim),
            "by": by,
            "metric": claim.metric,
            "verdict": str(verdict.outcome),
            "probability": verdict.probability,
            "power": verdict.power,
            "n": verdict.difference.pairs,
            **interval(verdict.difference),
            "afterwards": added_text(results, claim, text),
            "departure": _departing(results, claim) if by == PAPER else None,
        }


def _departing(results: Results, claim: Claim) -> str | None:
    """Return the options in which the claim's arms differ from the paper's; None without a difference."""
    arms = (arm for arm in results.arms if arm.name in (claim.first, claim.second))
    departures = option_departures(*(arm.candidate.architecture for arm in arms))
    return "; ".join(departure.brief for departure in departures) or None


def _verdict_on(results: Results, claim: Claim) -> ClaimVerdict:
    if not {claim.first, claim.second} <= results.values.keys():
        return ClaimVerdict(ClaimOutcome.UNDECIDED, Difference(), None, None)
    metric = Metric(claim.metric)
    first, second = (results.values[arm].get(metric.name, {}) for arm in (claim.first, claim.second))
    alpha = 1 - min(results.confidence(claim.first), results.confidence(claim.second))
    difference = results.difference(claim.first, claim.second, metric)
    return decide(claim, differences_of(first, second), difference, alpha)


def claims_grid(results: Results, claims: Table) -> Iterator[Grid]:
    """Yield the claims as a grid; none without claims."""
    if not claims.rows:
        return

    def cells(row: Row) -> list[str | Cell]:
        metric = Metric(str(row["metric"]))
        chances = [number(row[name]) for name in ("probability", "power")]
        texts = [
            fallback if chance is None else fixed(chance, 2)
            for chance, fallback in zip(chances, (UNKNOWN, NOTHING), strict=True)
        ]
        difference = difference_cell(row, results.decimals(metric))
        warnings = [f"added {row['afterwards']}"] if row["afterwards"] else []
        warnings += [str(row["departure"])] if row["departure"] else []
        caveat = ["; ".join(warnings) or NOTHING] if warned else []
        return [str(row["claim"]), str(row["by"]), str(row["verdict"]), *texts, difference, *caveat]

    warned = any(row["afterwards"] or row["departure"] for row in claims.rows)
    columns = [Column(title, numeric=False) for title in ("claim", "by", "verdict")]
    columns += [Column("probability"), Column("power"), Column("Δ [95%] (n)")]
    columns += [Column("caveat", numeric=False)] if warned else []
    yield grid("claims", "Claims and their verdicts", columns, map(cells, claims.rows))


def claims_note(claims: Table) -> str:
    """Return the note that defines the verdicts on claims."""
    unbounded = any("~" in str(row["claim"]) and " within " not in str(row["claim"]) for row in claims.rows)
    level = "; a claim with ~ and without a margin can only be contradicted" if unbounded else ""
    return (
        "Claims: supported if the 95% interval of Δ, first minus second, lies within the claimed range, contradicted "
        f"if it lies outside, undecided otherwise, without correction for multiple claims{level}. Probability: "
        "of the claim, under a flat prior. Power: the probability of supporting the claim if the true difference has "
        "the claimed size."
    )


def _content(evidence: Evidence) -> Content:
    verdicts = claims_table(evidence.results)
    grids = (with_notes(shown, [claims_note(verdicts)]) for shown in claims_grid(evidence.results, verdicts))
    return Content((verdicts,), tuple(grids))


SECTION = Section("claims", _content)
