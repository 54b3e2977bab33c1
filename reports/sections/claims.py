"""What the experiment claims and the paper states, judged: supported, contradicted or undecided, each with its power.

A paper's ordering is judged on every headline metric. The probability is that of the claim given the
differences, for a normal population of paired differences and a flat prior: Student's t around their mean.
Supported: the 95% interval lies wholly inside what the claim allows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import stdev

from analysis.effects import Difference, differences_of
from analysis.paired import ALPHA, vary
from analysis.power import power, power_within
from analysis.students_t import below
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


class Judgement(StrEnum):
    """What the seeds say of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with what it is judged by; None where too few seeds say nothing."""

    judgement: Judgement
    difference: Difference
    probability: float | None
    power: float | None
    """The chance that so many seeds of this spread show a true difference of the claimed size; for `~`, that they
    show a true 0 to be within it; None where no size is claimed."""


def judge(claim: Claim, differences: list[float], difference: Difference, alpha: float = ALPHA) -> ClaimVerdict:
    """Return what the differences, first minus second, say of a claim."""
    low, high = difference.low, difference.high
    if low is None or high is None or not vary(differences):
        return ClaimVerdict(Judgement.UNDECIDED, difference, None, None)
    from_, to = claim.bounds
    judgement = Judgement.UNDECIDED
    if from_ <= low and high <= to and not (low <= 0 <= high and claim.sign is not Sign.LEVEL):
        judgement = Judgement.SUPPORTED
    elif high < from_ or low > to:
        judgement = Judgement.CONTRADICTED
    sd, n = stdev(differences), len(differences)
    shares = [below((bound - (difference.delta or 0.0)) * n**0.5 / sd, n - 1) for bound in (from_, to)]
    if claim.sign is Sign.LEVEL:
        chance = power_within(0.0, claim.size, sd, n, alpha)
        if not claim.size:  # nothing says how near is level
            return ClaimVerdict(judgement, difference, None, None)
    else:
        chance = power(claim.size, sd, n, alpha)
    return ClaimVerdict(judgement, difference, shares[1] - shares[0], chance if claim.size else None)


def claims_table(results: Results) -> Table:
    """Return every claim and every stated ordering with its verdict; an arm that is not there leaves it undecided."""
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
        judged = _judged(results, claim)
        yield {
            "claim": str(claim),
            "by": by,
            "metric": claim.metric,
            "verdict": str(judged.judgement),
            "probability": judged.probability,
            "power": judged.power,
            "n": judged.difference.pairs,
            **interval(judged.difference),
            "afterwards": added_text(results, claim, text),
            "departure": _departing(results, claim) if by == PAPER else None,
        }


def _departing(results: Results, claim: Claim) -> str | None:
    """Return in which options the claim's arms differ from the paper's, None where in none."""
    arms = (arm for arm in results.arms if arm.name in (claim.first, claim.second))
    found = option_departures(*(arm.candidate.architecture for arm in arms))
    return "; ".join(each.brief for each in found) or None


def _judged(results: Results, claim: Claim) -> ClaimVerdict:
    if not {claim.first, claim.second} <= results.values.keys():
        return ClaimVerdict(Judgement.UNDECIDED, Difference(), None, None)
    metric = Metric(claim.metric)
    first, second = (results.values[arm].get(metric.name, {}) for arm in (claim.first, claim.second))
    alpha = 1 - min(results.confidence(claim.first), results.confidence(claim.second))
    difference = results.difference(claim.first, claim.second, metric)
    return judge(claim, differences_of(first, second), difference, alpha)


def claims_grid(results: Results, found: Table) -> Iterator[Grid]:
    """Yield the claims as people read them, none where there are none."""
    if not found.rows:
        return

    def cells(row: Row) -> list[str | Cell]:
        metric = Metric(str(row["metric"]))
        chances = [number(row[name]) for name in ("probability", "power")]
        texts = [
            fallback if chance is None else fixed(chance, 2)
            for chance, fallback in zip(chances, (UNKNOWN, NOTHING), strict=True)
        ]
        shown = difference_cell(row, results.decimals(metric))
        warnings = [f"added {row['afterwards']}"] if row["afterwards"] else []
        warnings += [str(row["departure"])] if row["departure"] else []
        caveat = ["; ".join(warnings) or NOTHING] if warned else []
        return [str(row["claim"]), str(row["by"]), str(row["verdict"]), *texts, shown, *caveat]

    warned = any(row["afterwards"] or row["departure"] for row in found.rows)
    columns = [Column(title, numeric=False) for title in ("claim", "by", "verdict")]
    columns += [Column("probability"), Column("power"), Column("Δ [95%] (n)")]
    columns += [Column("caveat", numeric=False)] if warned else []
    yield grid("claims", "Claims and their verdicts", columns, map(cells, found.rows))


def claims_note(found: Table) -> str:
    """Return what a verdict on a claim means."""
    unbounded = any("~" in str(row["claim"]) and " within " not in str(row["claim"]) for row in found.rows)
    level = "; ~ without a margin can only be contradicted" if unbounded else ""
    return (
        "Claims: supported where the 95% interval of Δ, first minus second, lies within what is claimed, "
        f"contradicted where it lies outside, without correction for the other claims{level}; probability: of the "
        "claim, under a flat prior; power: the probability of supporting it if it is true by that much."
    )


def _content(evidence: Evidence) -> Content:
    verdicts = claims_table(evidence.results)
    grids = (with_notes(shown, [claims_note(verdicts)]) for shown in claims_grid(evidence.results, verdicts))
    return Content((verdicts,), tuple(grids))


SECTION = Section("claims", _content)
