"""What is known beforehand of the tasks of an experiment: those below a reference in the results so far."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.paths import ResultPaths

if TYPE_CHECKING:
    from steeplechase.ledger.task_standing import TaskStanding


def reference_notes(experiment: Experiment, known: "Mapping[str, TaskStanding]") -> Iterator[str]:
    """Yield on which tasks no verdict rests by what is known of them, and of which nothing is known yet."""
    tasks = experiment.fine_tuning.tasks if experiment.has_trials else ()
    for task, standing in known.items():
        if standing.below:
            yield (
                f"{task}: no verdict rests on it by the results so far: the mean over all arms, {standing.mean:.1f}, "
                f"does not significantly exceed {standing.missed_text}"
            )
    if unknown := [task for task in tasks if task not in known]:
        yield (
            f"{', '.join(unknown)}: a verdict rests on a task only where the mean over all arms exceeds each of its "
            "references, which is known once arms are fine-tuned"
        )


def standings_in(experiment: Experiment, places: ResultPaths) -> "Mapping[str, TaskStanding]":
    """Return the standings with a spread to test with, of the tasks that a results folder has values of."""
    if not (places.folder / LEDGER_NAME).is_file():
        return {}
    from steeplechase.ledger.snapshot import snapshot
    from steeplechase.ledger.task_standing import task_standings

    with closing(Ledger.at(places.folder)) as ledger:
        if ledger.fact("identity") is None:
            return {}
        found = task_standings(snapshot(ledger), experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric)
    return {task: standing for task, standing in found.items() if standing.known}
