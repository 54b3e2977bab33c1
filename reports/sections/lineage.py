"""Lineage of the best candidate of a search by evolution: its ancestors from the baseline on, with their changes."""

from collections.abc import Iterator

from reports.section import Section, decimal, one_table, tokens
from reports.sections.candidates import candidates_table
from reports.statistics.results import Results
from reports.table import Column, Row, words
from steeplechase.configuration.arm import BASELINE

TITLE = "Lineage of the best candidate: each is a mutant of the one above it"
COLUMNS = (
    *(Column("generation"), words("candidate", "arm"), words("changes")),
    *(
        Column("tokens", "last rung", read=tokens),
        Column("held-out loss", "last rung", read=decimal("held_out_loss", 4)),
    ),
)


def _rows(results: Results) -> Iterator[Row]:
    """Yield the baseline, then each ancestor of the best candidate, then the candidate itself.

    The held-out loss is that at the last rung that an ancestor reached; losses at different rungs do not compare.
    """
    rows, parents = {str(row["arm"]): row for row in results.once(candidates_table).rows}, results.snapshot.parents
    arm = next((name for name, row in rows.items() if name != BASELINE and row["rank"] is not None), None)
    ancestors: list[str] = []
    while arm is not None:
        ancestors.append(arm)
        arm = parents.get(arm)
    for generation, name in enumerate(reversed(ancestors)):
        named: Row = {"generation": generation, "arm": name, "parent": parents.get(name)}
        yield {**named, **{column: rows[name][column] for column in ("changes", "tokens", "held_out_loss")}}


SECTION = Section(
    "lineage",
    one_table("lineage", _rows, TITLE, COLUMNS),
    lambda results: results.is_search and bool(results.snapshot.parents),
)
