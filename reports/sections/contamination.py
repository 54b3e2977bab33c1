"""What the pretraining text holds of the dev sets, as a table and beneath the tables."""

from collections.abc import Iterable, Iterator

from ledger.contamination import contamination_results
from ledger.records import Record
from ledger.stage_results import ContaminationResult
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.table import Row, Table, table

TERM = "Dev examples in the pretraining text"
RULE = (
    "a sentence of 4 words or more that is a sentence or line there, or 13 words in a row in one document; words "
    "lower-cased, without punctuation (arXiv 2005.14165, appendix C); share with its 95% interval (Wilson)"
)


def leakage_table(shared: Iterable[Record]) -> Table:
    """Return one row per task: how many of its dev examples overlap, with the share's 95% interval."""
    rows = (_row(one) for one in contamination_results(shared))
    return table("leakage", "task dev_examples long_enough overlapping share low high by_sentence by_run", rows)


def _row(one: ContaminationResult) -> Row:
    return {
        "task": one.task,
        "dev_examples": one.examples,
        "long_enough": one.told,
        "overlapping": one.overlapping,
        "share": one.share,
        "low": one.interval[0],
        "high": one.interval[1],
        "by_sentence": one.sentences,
        "by_run": one.runs,
    }


def leakage_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield the line of the footer; none where nothing was looked for."""
    shares = [f"{one.task} {one.told_share}" for one in contamination_results(shared)]
    if shares:
        yield TERM, f"{'; '.join(shares)}. Counted: {RULE}"


def _content(evidence: Evidence) -> Content:
    return Content(with_rows(leakage_table(evidence.results.snapshot.shared)))


SECTION = Section("leakage", _content)
