"""The papers' claims with their verdicts as Markdown: the page beside the published reports, the README's table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reports.claim_row import ClaimRow
from reports.formats.markdown import escape, table_lines
from reports.number_format import NOTHING, signed
from reports.paper_claims import OVER_SEEDS_ALONE, claim_rows
from reports.paper_claims_file import read_paper_claims

SCALES = ("smoke", "demo", "laptop", "wikipedia", "gpu", "paper")
NO_INTERVAL = "no interval: single examples were not kept"
HEADINGS = ("claim", "experiment", "metric", "test", "n", "Δ [95%]", "detectable", "verdict")
ALIGNMENTS = ("---", "---", "---", "---", "--:", "---", "--:", "---")
NOTE = (
    "Verdicts are those of the reports: supported if a difference outside the claimed range, first minus second, is "
    "rejected at 5%, contradicted if one inside it is, undecided otherwise, by Holm's correction over all claims of "
    "the experiment, of all experiments that declare the same study, or of all searches that test one claim. Δ has "
    "its own 95% interval, over seeds and held-out sequences or dev examples, or, where it says so, over seeds "
    "alone: too narrow, because the sampling error of the examples is not in it; chosen_final is the final loss of "
    "the candidate that a search chose, in nats. n: pretraining seeds, search seeds of searches at equal cost, or "
    "rounds of a latency experiment. Detectable: the true difference that is significant after the correction with "
    "a probability of 0.8 at this n and spread, whatever the family's other claims show. Seeds that would decide: "
    "of both sides, for that probability if the true difference and spread are the observed ones; where more "
    "examples are needed too, no number of seeds would do. Costs: all pretraining of the experiment, no cache."
)


def markdown(published: Path, experiments: Path) -> str:
    """Return the claims with their sources and the table of tests as Markdown."""
    claims = read_paper_claims(published)
    listed = [f"- **{claim.id}** {escape(claim.statement)} ({escape(claim.source)})" for claim in claims]
    rows = [HEADINGS, ALIGNMENTS, *map(_cells, claim_rows(published, experiments))]
    return "\n\n".join(("\n".join(listed), "\n".join(table_lines(rows)), NOTE)) + "\n"


def brief_markdown(published: Path, experiments: Path) -> str:
    """Return the table of tests at the largest scale at which each claim has a published one, as Markdown.

    Intervals are over seeds and the examples of the evaluation, none narrower than a multi-bootstrap of both. A scale
    at which single examples were not kept counts only where there is no other, and its intervals are left out.
    """
    tests = [*claim_rows(published, experiments)]
    rows: list[tuple[str, ...]] = [HEADINGS, ALIGNMENTS]
    for claim in read_paper_claims(published):
        largest = _at_largest_scale([test for test in tests if test.claim == claim.id])
        shown = [_cells(_without_narrow_interval(test)) for test in largest]
        names = [f"{claim.id}: {escape(claim.title)}", *[""] * (len(shown) - 1)]
        rows += [(name, *cells[1:]) for name, cells in zip(names, shown, strict=True)]
    return "\n".join(table_lines(rows)) + "\n"


def _at_largest_scale(tests: Sequence[ClaimRow]) -> list[ClaimRow]:
    """Return the tests run at the largest scale of those whose examples were kept, else of any; all if none was run.

    Where every one of them departs from the paper's setting, those in its setting stay beside them.
    """
    run = [test for test in tests if test.was_run]
    run = [test for test in run if OVER_SEEDS_ALONE not in test.caveats] or run
    if not run:
        return [*tests]
    largest = max((_scale(test) for test in run), key=SCALES.index)
    kept = [test for test in run if _scale(test) == largest]
    needed = [test for test in tests if not test.departure] if all(test.departure for test in kept) else []
    return [*needed, *kept]


def _without_narrow_interval(test: ClaimRow) -> ClaimRow:
    """Return a test with its widest interval, without one where that is over seeds alone."""
    if OVER_SEEDS_ALONE not in test.caveats or test.estimate is None:
        return replace(test, difference=test.widest or test.difference)
    caveats = tuple(each for each in test.caveats if each != OVER_SEEDS_ALONE)
    value = signed(test.estimate.value.item(), test.decimals)
    return replace(test, difference=value, caveats=(*caveats, NO_INTERVAL))


def _scale(test: ClaimRow) -> str:
    """Return the size of the scale: `laptop_detection` is another setting at that of `laptop`."""
    return test.experiment.rpartition(" ")[2].partition("_")[0]


def _cells(test: ClaimRow) -> tuple[str, ...]:
    n = NOTHING if test.n is None else str(test.n)
    verdict = "; ".join(filter(None, (test.verdict, *test.caveats, test.departure)))
    texts = map(escape, (n, test.difference, test.detectable, verdict))
    return (test.claim, escape(test.experiment), escape(test.metric), test.test, *texts)
