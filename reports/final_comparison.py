"""The final comparison of a search as a report sees it: an experiment of arms, under their usual names."""

from collections.abc import Mapping
from dataclasses import replace

from reports.by_recipe import at_shared_recipe, renamed_examples
from reports.statistics.experiment import experiment_of
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import final_experiment
from steeplechase.configuration.metrics import PrimaryMetric, objectives_in_effect
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_standing import task_standings, tasks_in_score


def at_final_seeds(snapshot: Snapshot, primary: PrimaryMetric | None = None) -> Snapshot | None:
    """Return the snapshot of the final comparison; None of an experiment without one.

    The held-out loss takes the place of a score whose tasks are all below their references, as in the search.
    Raises CorruptionError if this version cannot read the experiment.
    """
    final = snapshot.final
    if final is None:
        return None
    experiment = final_experiment(
        experiment_of(snapshot.document), final.plan.finalists, final.plan.seeds, final.winner, final.plan.ranked_by
    )
    names = {arm.name: str(arm.final_of) for arm in final.arms}
    compared = replace(
        snapshot,
        labels=final.plan.labels,
        arms=tuple(replace(arm, name=names[arm.name]) for arm in final.arms),
        histories=tuple(
            replace(each, trial=replace(each.trial, arm=names[each.trial.arm])) for each in final.histories
        ),
        importance={},
        parents={},
        final=None,
    )
    headlines = _in_effect(experiment, compared, primary or experiment.fine_tuning.primary_metric)
    return replace(compared, document=experiment.with_parts(headline_metrics=headlines).model_dump(mode="json"))


def _in_effect(experiment: Experiment, compared: Snapshot, primary: PrimaryMetric) -> tuple[str, ...]:
    tasks = tuple(sorted(experiment.fine_tuning.tasks))
    scored = tasks_in_score(tasks, task_standings(compared, tasks, primary))
    losses_compare = experiment.pretraining.losses_compare
    declared = experiment.headline_metrics
    return objectives_in_effect(declared, scored, losses_compare) or declared


def compared_results(snapshot: Snapshot, tables: Mapping[str, ExampleTable]) -> Results:
    """Return the results that the tables of a report show: the final comparison's, or those at the shared recipe."""
    final = at_final_seeds(snapshot)
    if final is None:
        return results_of(at_shared_recipe(snapshot), example_tables=tables)
    return results_of(final, example_tables=examples_at_final_seeds(snapshot, tables))


def examples_at_final_seeds(snapshot: Snapshot, tables: Mapping[str, ExampleTable]) -> dict[str, ExampleTable]:
    """Return the values of single examples of the arms of the final comparison, under their usual names."""
    names = {} if snapshot.final is None else {arm.name: str(arm.final_of) for arm in snapshot.final.arms}
    return {metric: renamed_examples(table, names) for metric, table in tables.items()}
