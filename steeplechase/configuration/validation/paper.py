"""Validation rules of `paper`: its table, the rows and the arms of `paper.rows` exist."""

from collections.abc import Iterator

from search_space.released.papers import published
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation, did_you_mean


def paper_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield unknown tables, rows and arms."""
    paper = experiment.paper
    if paper is None or (paper.table is None and not paper.rows):
        return
    if paper.table is None:
        yield Violation(("paper", "rows"), "rows need paper.table, the published table that they are in")
        return
    tables = published().tables
    if paper.table not in tables:
        message = f"{paper.table!r} is not a published table. Allowed: {', '.join(tables)}"
        yield Violation(("paper", "table"), f"{message}.{did_you_mean(paper.table, list(tables))}")
        return
    arms = [arm.name for arm in experiment.accepted_arms]
    if not arms:
        return
    rows = list(tables[paper.table].rows)
    for arm, row in paper.rows.items():
        if arm not in arms:
            message = f"{arm!r} is not an arm. Allowed: {', '.join(sorted(arms))}.{did_you_mean(arm, arms)}"
            yield Violation(("paper", "rows", arm), message)
        if row not in rows:
            message = f"{row!r} is not a row of {paper.table}. Allowed: {', '.join(rows)}.{did_you_mean(row, rows)}"
            yield Violation(("paper", "rows", arm), message)
