"""Claims of the experiment and statements of the paper with their verdicts, as a table and in the finding."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from reports.number_format import NOTHING, UNKNOWN, counted, listed, signed
from reports.section import DELTA, Content, Section, difference_in, interval_cell, known, number_text, p_value
from reports.sections.post_hoc_additions import added_text
from reports.statistics.claims import EXPERIMENT, PAPER, ClaimOutcome, JudgedClaim, TestedClaim, judged_claims
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Row, Table, compared, shown, words
from search_space.released.differences import options_departing
from steeplechase.configuration.claims import Sign
from steeplechase.configuration.metrics import COSTS

NOUNS = {PAPER: "ordering{} of the paper", EXPERIMENT: "claim{} of the experiment"}
NAMED = (ClaimOutcome.SUPPORTED, ClaimOutcome.CONTRADICTED)
"""Outcomes that the finding counts in their own words."""
MOST_NAMED = 3
"""Contradicted claims that the finding names; the table has all."""
FURTHER_NOTE = (
    "Pointwise: the outcome without correction, by the 95% interval inside or outside of the claimed range. "
    "Probability: of the claim, under a flat prior."
)


def claims_table(results: Results, of_study: Sequence[TestedClaim] = ()) -> Table:
    """Return every claim and every ordering of the paper with its outcome; undecided if an arm is missing.

    `of_study` are claims in other files of the same study, which belong to the family.
    """
    return Table.of("claims", (_row(results, judged) for judged in judged_claims(results, of_study)))


def _row(results: Results, judged: JudgedClaim) -> Row:
    tested = judged.tested
    arms = [arm for arm in results.arms if arm.name in tested.claim.arms] if tested.by == PAPER else []
    departing = options_departing(*(arm.candidate.architecture for arm in arms))
    return {
        "claim": str(tested.claim),
        "by": tested.by,
        "metric": tested.claim.metric,
        "verdict": str(judged.outcome),
        "pointwise": str(tested.pointwise),
        "p_supported": judged.corrected.outside,
        "p_contradicted": judged.corrected.inside,
        "probability": tested.probability,
        "power": tested.power,
        "reason": tested.reason if tested.on_learning or judged.outcome is ClaimOutcome.NOT_TESTED else None,
        **compared(tested.difference),
        "afterwards": added_text(results, tested.claim, tested.text),
        "departure": "; ".join(option.brief_departure for option in departing) or None,
    }


def _columns(results: Results, rows: Sequence[Row]) -> list[Column]:
    def difference(row: Row) -> Cell:
        metric = Metric(str(row["metric"]))
        if metric.name in COSTS:
            return Cell(known(row["delta"], lambda cost: signed(cost, 0)))  # it has no spread
        return interval_cell(difference_in(row), results.decimals(metric))

    def chance(name: str, unknown: str) -> Callable[[Row], str]:
        return lambda row: unknown if row[name] is None else number_text(row[name], 2)

    caveats = [words("caveat", lambda row: "; ".join(_caveats(row)) or NOTHING)]
    return [
        *map(words, ("claim", "by", "verdict")),
        words("pointwise", further=True),
        *(Column(name, "p", further=True, read=p_value(f"p_{name}")) for name in ("supported", "contradicted")),
        Column("probability", read=chance("probability", UNKNOWN)),
        Column("power", read=chance("power", NOTHING)),
        Column(DELTA, read=difference),
        *(caveats if any(any(_caveats(row)) for row in rows) else []),
    ]


def _caveats(row: Row) -> Iterator[str]:
    if row["afterwards"]:
        yield f"added {row['afterwards']}"
    if row["departure"]:
        yield str(row["departure"])
    if row["reason"]:
        yield str(row["reason"])


def claims_note(claims: Table) -> str:
    """Return the note that defines the verdicts on claims; a claim that is stated twice is one test."""
    family = len({row["claim"] for row in claims.rows if row["metric"] not in COSTS})
    return (
        "Claims: as stated here if p of a difference outside the claimed range, first minus second, is at most 0.05, "
        "opposite here if p of one inside it is, open here otherwise, by Holm's correction over the "
        f"{counted(family, 'claim')}, those that are not testable included. Power: the probability of supporting the "
        "claim, without correction, if the true difference has the claimed size; a claim with ~ cannot be as stated "
        "where it is below 50%."
    )


def claims_clauses(results: Results) -> Iterator[str]:
    """Yield how many claims have each outcome, and which are opposite here, by who states them."""
    tuning = None if results.own_recipes is None else results.snapshot.tuning
    if tuning is not None and tuning.has_selected:
        return  # said of the arms at their own recipes
    judged = judged_claims(results)
    for by, noun in NOUNS.items():
        stated = {one.tested.key: one for one in judged if one.tested.by == by}
        if len(stated) == 1:
            (only,) = stated.values()
            yield f"the only {noun.format('')} is {only.outcome}{_one_reason([only])}"
        elif stated:
            count = Counter(one.outcome for one in stated.values())
            supported = count[ClaimOutcome.SUPPORTED]
            parts = [f"{supported or 'none'} {'are' if supported > 1 else 'is'} {ClaimOutcome.SUPPORTED}"]
            against = [one.tested for one in stated.values() if one.outcome is ClaimOutcome.CONTRADICTED]
            others = {each: count[each] for each in ClaimOutcome if each in count and each not in NAMED}
            reason = _one_reason([*stated.values()])
            parts += [f"{number} {each}{reason}" for each, number in others.items()]
            parts += [f"{len(against)} {ClaimOutcome.CONTRADICTED}: {_named(against)}"] if against else []
            yield f"of {len(stated)} {noun.format('s')} {', '.join(parts)}"


def _one_reason(judged: Sequence[JudgedClaim]) -> str:
    """Return in brackets why claims are not testable, where none is and it is one reason; else nothing."""
    reasons = {each.tested.reason if each.outcome is ClaimOutcome.NOT_TESTED else "" for each in judged}
    return f" ({reasons.pop()})" if len(reasons) == 1 and "" not in reasons else ""


def _named(claims: Sequence[TestedClaim]) -> str:
    """Return the first claims by name, an ordering of the paper once with its metrics."""
    metrics: dict[str, list[str]] = {}
    for one in claims:
        claim, of_paper = one.claim, one.by == PAPER
        ordering = f"{claim.first} {'~' if claim.sign is Sign.LEVEL else '>'} {claim.second}"
        metrics.setdefault(ordering if of_paper else str(claim), []).extend(
            [Metric(claim.metric).title] if of_paper else []
        )
    names = [f"{name} on {' and '.join(titles)}" if titles else name for name, titles in metrics.items()]
    return listed(names, MOST_NAMED)


def _content(results: Results) -> Content:
    claims = claims_table(results)
    columns, title = _columns(results, claims.rows), "Claims and their verdicts"
    title += "" if results.own_recipes is None else ", with every arm at its own recipe"
    notes = [claims_note(claims)]
    return Content((claims,), shown("claims", title, columns, claims.rows, notes, FURTHER_NOTE))


SECTION = Section("claims", _content, clauses=claims_clauses)
