"""What the hurdles of a search saved, and what their audit cost, in full trainings of a candidate."""

from collections.abc import Iterator

from reports.grid import Column, Grid, grid
from reports.number_format import fixed, short
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.stage_label import ZERO_COST, StageLabel, pretraining_marks
from steeplechase.ledger.records import TrialStatus

DECIMALS = 2
COLUMNS = "hurdle tokens stopped saved audited audit_cost"


def savings_table(results: Results) -> Table:
    """Return a row per hurdle that stopped trials: the rest of their trainings, by share of tokens."""
    labels = results.snapshot.labels
    before = [0] if any(StageLabel.parse(label).kind == ZERO_COST for label in labels) else []
    marks = [*before, *(int(label.partition("@")[2]) for label in pretraining_marks(labels))]
    stopped = [
        (history, stop.level)
        for history in results.snapshot.histories
        if history.trial.arm != BASELINE
        and history.status is TrialStatus.STOPPED
        and (stop := history.stopped_by) is not None
    ]
    rows: list[Row] = []
    for level in sorted({level for _, level in stopped}):
        here = [history for history, at in stopped if at == level]
        audited = sum(bool(history.audit) for history in here)
        rest = 1 - marks[level] / marks[-1]
        rows.append(
            {
                "hurdle": level + 1,
                "tokens": marks[level],
                "stopped": len(here),
                "saved": len(here) * rest,
                "audited": audited,
                "audit_cost": audited * rest,
            }
        )
    return table("hurdle_savings", COLUMNS, rows)


def savings_grid(savings: Table) -> Iterator[Grid]:
    """Yield the savings as a grid; none without a stopped trial."""
    if not savings.rows:
        return

    def cells(row: Row) -> list[str]:
        tokens, saved, cost = (number(row[name]) or 0.0 for name in ("tokens", "saved", "audit_cost"))
        counts = str(row["stopped"]), str(row["audited"])
        spent = fixed(saved, DECIMALS), fixed(cost, DECIMALS)
        return [str(row["hurdle"]), short(int(tokens)), counts[0], spent[0], counts[1], spent[1]]

    columns = [
        *(Column("hurdle"), Column("tokens"), Column("stopped"), Column("trainings saved")),
        *(Column("trials", "audit"), Column("trainings", "audit")),
    ]
    title = "What the hurdles saved, in full trainings of a candidate; the audit spends a part of it"
    yield grid(savings.name, title, columns, map(cells, savings.rows))


def _applies(evidence: Evidence) -> bool:
    return evidence.results.is_search and bool(savings_table(evidence.results).rows)


def _content(evidence: Evidence) -> Content:
    savings = savings_table(evidence.results)
    return Content((savings,), tuple(savings_grid(savings)))


SECTION = Section("hurdle_savings", _content, _applies)
