"""The final comparison of a search as a report sees it: an experiment of arms, under their usual names."""

from collections.abc import Mapping
from dataclasses import replace

from reports.by_recipe import renamed_examples
from reports.statistics.experiment import experiment_of
from steeplechase.configuration.final_comparison import final_experiment
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot


def at_final_seeds(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot of the final comparison; None of an experiment without one.

    Raises CorruptionError if this version cannot read the experiment.
    """
    final = snapshot.final
    if final is None:
        return None
    experiment = final_experiment(
        experiment_of(snapshot.document), final.plan.finalists, final.plan.seeds, final.winner, final.plan.ranked_by
    )
    names = {arm.name: str(arm.final_of) for arm in final.arms}
    return replace(
        snapshot,
        document=experiment.model_dump(mode="json"),
        labels=final.plan.labels,
        arms=tuple(replace(arm, name=names[arm.name]) for arm in final.arms),
        histories=tuple(
            replace(each, trial=replace(each.trial, arm=names[each.trial.arm])) for each in final.histories
        ),
        importance={},
        parents={},
        final=None,
    )


def examples_at_final_seeds(snapshot: Snapshot, tables: Mapping[str, ExampleTable]) -> dict[str, ExampleTable]:
    """Return the values of single examples of the arms of the final comparison, under their usual names."""
    names = {} if snapshot.final is None else {arm.name: str(arm.final_of) for arm in snapshot.final.arms}
    return {metric: renamed_examples(table, names) for metric, table in tables.items()}
