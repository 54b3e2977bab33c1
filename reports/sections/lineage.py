"""Lineage of the best candidate of a search by evolution: its ancestors from the baseline on, with their changes."""

from collections.abc import Iterator

from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, fixed, short
from reports.section import Content, Section
from reports.sections.candidates import candidates_table
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.configuration.arm import BASELINE, changes_text

DECIMALS = 4


def lineage_table(results: Results) -> Table:
    """Return the baseline, then each ancestor of the best candidate, then the candidate itself.

    The held-out loss is that at the last rung that an ancestor reached; losses at different rungs do not compare.
    """
    rows = {str(row["arm"]): row for row in candidates_table(results).rows}
    changes = {arm.name: changes_text(arm.changes) for arm in results.arms}
    best = next((name for name, row in rows.items() if name != BASELINE and row["rank"] is not None), None)
    found: list[Row] = [
        {
            "generation": generation,
            "arm": name,
            "parent": results.snapshot.parents.get(name),
            "changes": changes[name],
            "tokens": rows[name]["tokens"],
            "held_out_loss": rows[name]["held_out_loss"],
        }
        for generation, name in enumerate(_ancestors(results, best))
    ]
    return table("lineage", "generation arm parent changes tokens held_out_loss", found)


def _ancestors(results: Results, arm: str | None) -> list[str]:
    """Return the ancestors of an arm, the oldest first, and the arm."""
    found: list[str] = []
    while arm is not None:
        found.append(arm)
        arm = results.snapshot.parents.get(arm)
    return found[::-1]


def lineage_grid(lineage: Table) -> Iterator[Grid]:
    """Yield the lineage as a grid; none without candidates."""
    if not lineage.rows:
        return

    def cells(row: Row) -> list[str]:
        tokens, loss = row["tokens"], number(row["held_out_loss"])
        return [
            str(row["generation"]),
            str(row["arm"]),
            str(row["changes"]),
            short(tokens) if isinstance(tokens, int) else NOTHING,
            NOTHING if loss is None else fixed(loss, DECIMALS),
        ]

    columns = [
        *(Column("generation"), Column("candidate", numeric=False), Column("changes", numeric=False)),
        *(Column("tokens", "last rung"), Column("held-out loss", "last rung")),
    ]
    title = "Lineage of the best candidate: each is a mutant of the one above it"
    yield grid(lineage.name, title, columns, map(cells, lineage.rows))


def _applies(evidence: Evidence) -> bool:
    return evidence.results.is_search and bool(evidence.results.snapshot.parents)


def _content(evidence: Evidence) -> Content:
    lineage = lineage_table(evidence.results)
    return Content((lineage,), tuple(lineage_grid(lineage)))


SECTION = Section("lineage", _content, _applies)
