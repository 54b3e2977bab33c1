"""The experiment's claims, judged: supported, contradicted or undecided, with a probability and the power.

The probability is that of the claim given the differences, for a normal population of paired differences and a flat
prior: Student's t around their mean. Supported: the 95% interval lies wholly inside what the claim allows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import stdev

from reports.details_text import difference_cell
from reports.effects import Difference, differences_of
from reports.grids import Column, Grid, grid
from reports.metrics import Metric
from reports.numbers import NOTHING, UNKNOWN, fixed
from reports.reading import number
from reports.results import Results
from reports.table import Row, Table, interval, table
from runners.claims import Claim, Sign, parse_claim
from runners.inference.paired import ALPHA, vary
from runners.inference.power import power, power_within
from runners.inference.student import below


class Judgement(StrEnum):
    """What the seeds say of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judged:
    """A claim with what it is judged by; None where too few seeds say nothing."""

    judgement: Judgement
    difference: Difference
    probability: float | None
    power: float | None
    """The chance that so many seeds of this spread show a true difference of the claimed size; for `~`, that they
    show a true 0 to be within it; None where no size is claimed."""


def judge(claim: Claim, differences: list[float], difference: Difference, alpha: float = ALPHA) -> Judged:
    """Return what the differences, first minus second, say of a claim."""
    low, high = difference.low, difference.high
    if low is None or high is None or not vary(differences):
        return Judged(Judgement.UNDECIDED, difference, None, None)
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
    else:
        chance = power(claim.size, sd, n, alpha)
    return Judged(judgement, difference, shares[1] - shares[0], chance if claim.size else None)


def claims_table(results: Results) -> Table:
    """Return every claim with its verdict; an arm that is not there leaves it undecided."""
    return table("claims", "claim verdict probability power n delta low high afterwards", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for text in results.setting.claims:
        claim = parse_claim(text)
        judged = _judged(results, claim)
        late = sorted({claim.first, claim.second} & set(results.afterwards))
        yield {
            "claim": text,
            "verdict": str(judged.judgement),
            "probability": judged.probability,
            "power": judged.power,
            "n": judged.difference.pairs,
            **interval(judged.difference),
            "afterwards": ", ".join(late) or None,
        }


def _judged(results: Results, claim: Claim) -> Judged:
    if not {claim.first, claim.second} <= results.values.keys():
        return Judged(Judgement.UNDECIDED, Difference(), None, None)
    metric = Metric(claim.metric)
    mine, theirs = (results.values[arm].get(metric.name, {}) for arm in (claim.first, claim.second))
    alpha = 1 - min(results.confidence(claim.first), results.confidence(claim.second))
    difference = results.difference(claim.first, claim.second, metric)
    return judge(claim, differences_of(mine, theirs), difference, alpha)


def claims_grid(results: Results, found: Table) -> Iterator[Grid]:
    """Yield the claims as people read them, none where there are none."""
    if not found.rows:
        return

    def cells(row: Row) -> list[str]:
        metric = Metric(parse_claim(str(row["claim"])).metric)
        chances = [number(row[name]) for name in ("probability", "power")]
        texts = [
            fallback if chance is None else fixed(chance, 2)
            for chance, fallback in zip(chances, (UNKNOWN, NOTHING), strict=True)
        ]
        late = f"{row['afterwards']} added after results" if row["afterwards"] else NOTHING
        shown = difference_cell(row, results.decimals(metric))
        return [str(row["claim"]), str(row["verdict"]), *texts, shown, late]

    columns = [Column("claim", numeric=False), Column("verdict", numeric=False)]
    columns += [Column("probability"), Column("power"), Column("Δ [95%] (n)"), Column("beware", numeric=False)]
    yield grid("claims", "The experiment's claims", columns, map(cells, found.rows))
