"""What the hurdles of a search saved, and what their audit cost, in full trainings of a candidate."""

from collections.abc import Iterator

from reports.columns import decimal, tokens
from reports.grid import Column, shown
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.stage_label import pretraining_marks
from steeplechase.ledger.records import TrialStatus

TITLE = "What the hurdles saved, in full trainings of a candidate; the audit spends a part of it"
COLUMNS = (
    *(Column("hurdle"), Column("tokens", read=tokens), Column("stopped")),
    Column("trainings saved", read=decimal("saved", 2)),
    *(Column("trials", "audit", read="audited"), Column("trainings", "audit", read=decimal("audit_cost", 2))),
)


def savings_table(results: Results) -> Table:
    """Return a row per hurdle that stopped trials: the rest of their trainings, by share of tokens."""
    return Table.of("hurdle_savings", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    marks = [int(label.partition("@")[2]) for label in pretraining_marks(results.snapshot.labels)]
    stopped = [
        (history, stop.level)
        for history in results.snapshot.histories
        if history.trial.arm != BASELINE
        and history.status is TrialStatus.STOPPED
        and (stop := history.stopped_by) is not None
    ]
    for level in sorted({level for _, level in stopped}):
        here = [history for history, at in stopped if at == level]
        audited = sum(bool(history.audit) for history in here)
        rest = 1 - marks[level] / marks[-1]
        yield {
            "hurdle": level + 1,
            "tokens": marks[level],
            "stopped": len(here),
            "saved": len(here) * rest,
            "audited": audited,
            "audit_cost": audited * rest,
        }


def _content(evidence: Evidence) -> Content:
    savings = savings_table(evidence.results)
    return Content(savings.filled, shown(savings.name, TITLE, COLUMNS, savings.rows))


SECTION = Section("hurdle_savings", _content, lambda evidence: evidence.results.is_search)
