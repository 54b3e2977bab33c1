"""Lineage of the best candidate of a search by evolution: its ancestors from the baseline on, with their changes."""

from reports.columns import decimal, tokens
from reports.grid import Column, shown, words
from reports.section import Content, Section
from reports.sections.candidates import candidates_table
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Table
from steeplechase.configuration.arm import BASELINE, changes_text

TITLE = "Lineage of the best candidate: each is a mutant of the one above it"
COLUMNS = (
    *(Column("generation"), words("candidate", "arm"), words("changes")),
    *(
        Column("tokens", "last rung", read=tokens),
        Column("held-out loss", "last rung", read=decimal("held_out_loss", 4)),
    ),
)


def lineage_table(results: Results) -> Table:
    """Return the baseline, then each ancestor of the best candidate, then the candidate itself.

    The held-out loss is that at the last rung that an ancestor reached; losses at different rungs do not compare.
    """
    rows = {str(row["arm"]): row for row in results.once(candidates_table).rows}
    changes = {arm.name: changes_text(arm.changes) for arm in results.arms}
    arm = next((name for name, row in rows.items() if name != BASELINE and row["rank"] is not None), None)
    ancestors: list[str] = []
    while arm is not None:
        ancestors.append(arm)
        arm = results.snapshot.parents.get(arm)
    found = (
        {
            "generation": generation,
            "arm": name,
            "parent": results.snapshot.parents.get(name),
            "changes": changes[name],
            "tokens": rows[name]["tokens"],
            "held_out_loss": rows[name]["held_out_loss"],
        }
        for generation, name in enumerate(reversed(ancestors))
    )
    return Table.of("lineage", found)


def _content(evidence: Evidence) -> Content:
    lineage = lineage_table(evidence.results)
    return Content((lineage,), shown(lineage.name, TITLE, COLUMNS, lineage.rows))


def _applies(evidence: Evidence) -> bool:
    return evidence.results.is_search and bool(evidence.results.snapshot.parents)


SECTION = Section("lineage", _content, _applies)
