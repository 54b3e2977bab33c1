"""The papers' claims with their verdicts as Markdown: the page beside the published reports."""

from pathlib import Path

from reports.claim_row import ClaimRow
from reports.formats.markdown import escape, table_lines
from reports.number_format import NOTHING
from reports.paper_claims import claim_rows
from reports.paper_claims_file import read_paper_claims

HEADINGS = ("claim", "experiment", "metric", "test", "n", "Δ [95%]", "detectable", "verdict")
ALIGNMENTS = ("---", "---", "---", "---", "--:", "---", "--:", "---")
NOTE = (
    "A verdict is about models of the size, the training and the text beside it, and says nothing of others. It is "
    "that of the report: supported if a difference outside the claimed range, first minus second, is rejected at 5%, "
    "contradicted if one inside it is, undecided otherwise, by Holm's correction over all claims of the experiment, "
    "of all experiments that declare the same study, or of all searches that test one claim. Margins (within) are "
    "this project's. Δ has its own 95% interval, over seeds and held-out sequences or dev examples, or, where it "
    "says so, over seeds alone: too narrow, because the sampling error of the examples is not in it; chosen_final is "
    "the final loss of the candidate that a search chose, in nats. n: pretraining seeds, where it says nothing else. "
    "Passes over the text: pretraining tokens over those of the training text. Detectable: the true difference from "
    "0 that is significant after the correction with a probability of 0.8 at this n and spread, whatever the "
    "family's other claims show. Seeds that would decide: of both sides, for that probability if the true difference "
    "and spread are the observed ones; where more examples are needed too, no number of seeds would do. Costs: all "
    "pretraining of the experiment, no cache."
)


def markdown(published: Path, experiments: Path) -> str:
    """Return the claims with their sources and the table of tests as Markdown."""
    claims = read_paper_claims(published)
    listed = [f"- **{claim.id}** {escape(claim.statement)} ({escape(claim.source)})" for claim in claims]
    rows = [HEADINGS, ALIGNMENTS, *map(_cells, claim_rows(published, experiments))]
    return "\n\n".join(("\n".join(listed), "\n".join(table_lines(rows)), NOTE)) + "\n"


def _cells(test: ClaimRow) -> tuple[str, ...]:
    n = NOTHING if test.n is None else f"{test.n} {test.replicates}".rstrip()
    verdict = "; ".join(filter(None, (test.verdict, test.scope, *test.caveats, test.departure)))
    texts = map(escape, (n, test.difference, test.detectable, verdict))
    return (test.claim, escape(test.experiment), escape(test.metric), test.test, *texts)
