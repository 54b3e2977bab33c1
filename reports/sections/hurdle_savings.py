"""What the hurdles of a search saved, and what their audit cost, in full trainings of a candidate."""

from collections.abc import Iterator

from reports.section import Section, decimal, one_table, tokens
from reports.statistics.results import Results
from reports.table import Column, Row
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.stage_label import pretraining_marks
from steeplechase.ledger.records import TrialStatus

TITLE = "What the hurdles saved, in full trainings of a candidate; the audit spends a part of it"
COLUMNS = (
    *(Column("hurdle"), Column("tokens", read=tokens), Column("stopped")),
    Column("trainings saved", read=decimal("saved", 2)),
    *(Column("trials", "audit", read="audited"), Column("trainings", "audit", read=decimal("audit_cost", 2))),
)


def _rows(results: Results) -> Iterator[Row]:
    """Yield a row per hurdle that stopped trials: the rest of their trainings, by share of tokens."""
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


SECTION = Section(
    "hurdle_savings", one_table("hurdle_savings", _rows, TITLE, COLUMNS), lambda results: results.is_search
)
