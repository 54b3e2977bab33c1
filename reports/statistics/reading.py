"""The results of a snapshot: its experiment, arms, metrics and values, and which seeds learned."""

from collections.abc import Mapping
from types import MappingProxyType

from reports.statistics.experiment import experiment_of
from reports.statistics.learning import examples_of_learners, learning_of, values_of_learners
from reports.statistics.metrics import ordered
from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE, PrimaryMetric
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.metrics import nested_values_of
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_standing import task_standings, tasks_in_score
from steeplechase.ledger.trial_history import TrialHistory

NO_EXAMPLES: Mapping[str, ExampleTable] = MappingProxyType({})


def results_of(
    snapshot: Snapshot,
    primary: PrimaryMetric | None = None,
    example_tables: Mapping[str, ExampleTable] = NO_EXAMPLES,
) -> Results:
    """Return the results of a snapshot, with the values of single examples where these were kept.

    Raises CorruptionError for a document that this version cannot read.
    """
    experiment = experiment_of(snapshot.document)
    primary = primary or experiment.fine_tuning.primary_metric
    tasks = tuple(sorted(experiment.fine_tuning.tasks))
    found = task_standings(snapshot, tasks, primary)
    scored = tasks_in_score(tasks, found)
    every_value = nested_values_of(snapshot, tasks, primary, scored)
    measured = {metric for by_metric in every_value.values() for metric in by_metric}
    learning = {} if experiment.search is not None else learning_of(snapshot)
    arms = tuple(sorted(snapshot.arms, key=lambda arm: (arm.name != BASELINE, arm.position, arm.name)))
    trials: dict[str, list[TrialHistory]] = {arm.name: [] for arm in arms}
    for history in sorted(snapshot.histories, key=lambda history: history.trial.seed):
        trials.setdefault(history.trial.arm, []).append(history)
    grouped = {arm: tuple(histories) for arm, histories in trials.items()}
    others = [arm.name for arm in arms if arm.name != BASELINE]
    unmeasured = {SCORE} if tasks and (len(tasks) == 1 or not scored) else set()
    incomparable = others and snapshot.arms_with_other_loss.issuperset(others)
    unmeasured |= {HELD_OUT_LOSS} if incomparable or not experiment.pretrains else set()
    metrics = tuple(metric for metric in ordered(tasks, measured) if metric.name not in unmeasured)
    return Results(
        snapshot=snapshot,
        experiment=experiment,
        primary=primary,
        arms=arms,
        metrics=metrics,
        nested=values_of_learners(every_value, learning),
        trials=grouped,
        standings=found,
        example_tables=examples_of_learners(example_tables, learning),
        learning=learning,
        measured=every_value,
    )
