"""Contamination: the share of dev examples that occur in the pretraining text."""

from collections.abc import Iterable, Iterator

from reports.section import Content, Section
from reports.table import Row, Table
from steeplechase.ledger.contamination import contamination_results
from steeplechase.ledger.records import Record

TERM = "Dev examples in the pretraining text"
RULE = (
    "an example with a sentence of 4 words or more that is also a sentence or line of the pretraining text, or with "
    "13 consecutive words of one document; words are lower-cased, without punctuation (arXiv 2005.14165, appendix "
    "C); shares with 95% Wilson intervals"
)


def leakage_table(shared: Iterable[Record]) -> Table:
    """Return one row per task: the number of overlapping dev examples, and their share with its 95% interval."""
    rows: Iterator[Row] = (
        {
            "task": result.task,
            "dev_examples": result.examples,
            "long_enough": result.told,
            "overlapping": result.overlapping,
            "share": result.share,
            "low": result.interval[0],
            "high": result.interval[1],
            "by_sentence": result.sentences,
            "by_run": result.runs,
        }
        for result in contamination_results(shared)
    )
    return Table.of("leakage", rows)


def leakage_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield the footer's note; none where contamination was not measured."""
    shares = [f"{result.task} {result.share_with_interval}" for result in contamination_results(shared)]
    if shares:
        yield TERM, f"{'; '.join(shares)}. Counted: {RULE}"


SECTION = Section(
    "leakage",
    lambda results: Content(leakage_table(results.snapshot.shared).filled),
    conditions=lambda results: leakage_notes(results.snapshot.shared),
)
