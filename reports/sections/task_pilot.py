"""The pilot of a scale as a table: every arm on every task beside the task's references, and whether it qualifies."""

from collections.abc import Iterator

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, fixed
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.statistics.task_pilot import PilotedArm, pilot_of, qualifying_tasks
from reports.table import Row, Table, table
from steeplechase.ledger.task_references import TITLES

COLUMNS = ("task", "metric", "arm", "n", "mean", "low", "high", *TITLES, "untrained_n", "exceeded", "qualifies")
VERDICT = {True: "qualifies", False: "no", None: UNKNOWN}
DECIMALS = 1


def pilot_table(results: Results) -> Table:
    """Return one row per task and arm."""
    return table("task_pilot", " ".join(COLUMNS), map(_row, pilot_of(results)))


def _row(piloted: PilotedArm) -> Row:
    known = piloted.task.known
    return {
        "task": piloted.task.task,
        "metric": piloted.task.metric,
        "arm": piloted.arm,
        "n": piloted.n,
        "mean": piloted.mean,
        "low": piloted.low,
        "high": piloted.high,
        **{name: known.get(name) for name in TITLES},
        "untrained_n": len(piloted.task.untrained),
        "exceeded": ", ".join(TITLES[name] for name in piloted.exceeded),
        "qualifies": piloted.qualifies,
    }


def pilot_grid(results: Results) -> Iterator[Grid]:
    """Yield the table as people read it, none where no task has a score."""
    piloted = pilot_of(results)
    if not piloted:
        return
    columns = [Column("task", numeric=False), Column("arm", numeric=False), Column("mean [95%] (n)")]
    columns += [*map(Column, TITLES.values()), Column("verdict", numeric=False)]
    found = grid(
        "task_pilot", "Pilot: which tasks separate trained encoders from references", columns, _rows(piloted)
    )
    yield with_notes(found, _notes(piloted))


def _rows(piloted: tuple[PilotedArm, ...]) -> Iterator[list[Cell | str]]:
    for one in piloted:
        known = one.task.known
        missed = [TITLES[name] for name in known if name not in one.exceeded]
        verdict = VERDICT[one.qualifies] if one.qualifies is not False else f"not above {', '.join(missed)}"
        references = [Cell(fixed(known[name], DECIMALS) if name in known else NOTHING) for name in TITLES]
        yield [one.task.task, one.arm, _mean_text(one), *references, Cell(verdict, strong=bool(one.qualifies))]


def _mean_text(one: PilotedArm) -> str:
    if one.low is None or one.high is None:
        return f"{fixed(one.mean, DECIMALS)} [{UNKNOWN}] ({one.n})"
    return f"{fixed(one.mean, DECIMALS)} [{fixed(one.low, DECIMALS)}, {fixed(one.high, DECIMALS)}] ({one.n})"


def _notes(piloted: tuple[PilotedArm, ...]) -> Iterator[str]:
    found = qualifying_tasks(piloted)
    yield f"Qualifying tasks: {', '.join(found) or 'none'}."
    yield (
        "A task qualifies where an arm exceeds every reference: the interval of the difference lies above 0. The "
        "standard deviation is pooled over arms and untrained encoders, the level corrected for the number of arms."
    )
    if any(not one.task.untrained for one in piloted):
        yield f"{UNKNOWN}: no untrained encoder was evaluated (fine_tuning.untrained_seeds), or no spread is known."


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    return Content(with_rows(pilot_table(results)), tuple(pilot_grid(results)))


def _has_untrained(evidence: Evidence) -> bool:
    return bool(evidence.results.experiment.fine_tuning.untrained_seeds)


SECTION = Section("task_pilot", _content, applies=_has_untrained)
