"""`steeplechase pilot`: which tasks of a results folder separate trained encoders from the tasks' references."""

from dataclasses import replace

from reports.report import build
from reports.sections.task_pilot import pilot_grid
from reports.statistics.latency import is_latency
from reports.statistics.results import results_of
from reports.statistics.task_pilot import pilot_of, qualifying_tasks
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.report_format import print_report
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.reading import snapshot_at


def pilot(folder: ResultsFolder) -> None:
    """Print each task's scores beside chance, bag of words, n-gram model and untrained encoder, and which qualify."""
    found = snapshot_at(folder)
    if is_latency(found):
        raise DataError(f"{folder}: a timing experiment has no tasks")
    results = results_of(found)
    piloted = pilot_of(results)
    if not piloted:
        raise DataError(f"{folder}: no task has a score yet")
    finding = f"qualifying tasks: {', '.join(qualifying_tasks(piloted)) or 'none'}"
    shown = replace(build(found), finding=finding, paper="", grids=tuple(pilot_grid(results)), footer=())
    print_report(shown)
