"""Claims of the experiment and statements of the paper with their verdicts, as a table."""

from collections.abc import Iterable, Iterator, Sequence

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, counted, fixed, p_text
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.sections.post_hoc_additions import added_text
from reports.statistics.claims import PAPER, ClaimOutcome, JudgedClaim, TestedClaim, judged_claims, stated_claims
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric, below_reference_text
from reports.statistics.results import Results
from reports.table import Row, Table, interval, number, table
from search_space.released.differences import option_departures
from steeplechase.configuration.claims import Claim, Sign
from steeplechase.configuration.metrics import COSTS

COLUMNS = (
    "claim by metric verdict pointwise p_supported p_contradicted probability power n delta low high afterwards "
    "departure"
)


def claims_table(results: Results, of_study: Sequence[TestedClaim] = ()) -> Table:
    """Return every claim and every ordering of the paper with its outcome; undecided if an arm is missing.

    `of_study` are claims in other files of the same study, which belong to the family.
    """
    return table("claims", COLUMNS, _rows(results, judged_claims(results, of_study)))


def _rows(results: Results, claims: Iterable[JudgedClaim]) -> Iterator[Row]:
    for judged in claims:
        tested = judged.tested
        yield {
            "claim": str(tested.claim),
            "by": tested.by,
            "metric": tested.claim.metric,
            "verdict": str(judged.outcome),
            "pointwise": str(tested.pointwise),
            "p_supported": judged.corrected.supported_p,
            "p_contradicted": judged.corrected.contradicted_p,
            "probability": tested.probability,
            "power": tested.power,
            "n": tested.difference.n,
            **interval(tested.difference),
            "afterwards": added_text(results, tested.claim, tested.text),
            "departure": _departing(results, tested.claim) if tested.by == PAPER else None,
        }


def _departing(results: Results, claim: Claim) -> str | None:
    """Return the options in which the claim's arms differ from the paper's; None without a difference."""
    arms = (arm for arm in results.arms if arm.name in (claim.first, claim.second))
    departures = option_departures(*(arm.candidate.architecture for arm in arms))
    return "; ".join(departure.brief for departure in departures) or None


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
        difference = difference_cell(row, 0 if metric.name in COSTS else results.decimals(metric))
        caveat = ["; ".join(_caveats(row)) or NOTHING] if warned else []
        p_values = [p_text(number(row[name])) for name in ("p_supported", "p_contradicted")]
        verdicts = [str(row["verdict"]), str(row["pointwise"])]
        return [str(row["claim"]), str(row["by"]), *verdicts, *p_values, *texts, difference, *caveat]

    warned = any(any(_caveats(row)) for row in claims.rows)
    columns = [Column(title, numeric=False) for title in ("claim", "by", "verdict")]
    columns.append(Column("pointwise", numeric=False, further=True))
    columns += [Column(title, "p", further=True) for title in ("supported", "contradicted")]
    columns += [Column("probability"), Column("power"), Column("Δ [95%] (n)")]
    columns += [Column("caveat", numeric=False)] if warned else []
    yield grid("claims", "Claims and their verdicts", columns, map(cells, claims.rows))


def _caveats(row: Row) -> Iterator[str]:
    if row["afterwards"]:
        yield f"added {row['afterwards']}"
    if row["departure"]:
        yield str(row["departure"])
    if row["verdict"] == ClaimOutcome.NOT_TESTED:
        yield below_reference_text(Metric(str(row["metric"])))


def claims_note(results: Results, claims: Table) -> str:
    """Return the note that defines the verdicts on claims; a claim that is stated twice is one test."""
    unbounded = any(claim.sign is Sign.LEVEL and not claim.size for _, _, claim in stated_claims(results))
    level = "; a claim with ~ and without a margin can only be contradicted" if unbounded else ""
    tested = len({row["claim"] for row in claims.rows if row["p_supported"] is not None})
    return (
        "Claims: supported if p of a difference outside the claimed range, first minus second, is at most 0.05, "
        "contradicted if p of one inside it is, undecided otherwise, by Holm's correction over the "
        f"{counted(tested, 'tested claim')}{level}. Power: the probability of supporting the claim, without "
        "correction, if the true difference has the claimed size."
    )


FURTHER_NOTE = (
    "Pointwise: the outcome without correction, by the 95% interval inside or outside of the claimed range. "
    "Probability: of the claim, under a flat prior."
)


def _content(evidence: Evidence) -> Content:
    verdicts = claims_table(evidence.results)
    grids = (
        with_notes(shown, [claims_note(evidence.results, verdicts)], [FURTHER_NOTE])
        for shown in claims_grid(evidence.results, verdicts)
    )
    return Content((verdicts,), tuple(grids))


SECTION = Section("claims", _content)
