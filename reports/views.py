"""The results of a snapshot as a report reads them: at the shared recipe, at own recipes, of a final comparison.

Every view has its arms under their usual names, whatever rows of the ledger they are.
"""

from collections.abc import Mapping, Set
from dataclasses import replace

from reports.statistics.experiment import experiment_of
from reports.statistics.reading import NO_EXAMPLES, results_of
from reports.statistics.results import Results
from steeplechase.configuration.final_comparison import final_experiment
from steeplechase.configuration.metrics import PrimaryMetric, objectives_in_effect
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_standing import tasks_in_score
from steeplechase.ledger.trial_history import TrialHistory

Tables = Mapping[str, ExampleTable]
"""Values of single examples by metric."""
Shown = Mapping[str, ArmRow]
"""By usual name, the row of the ledger that is shown under it."""


def shared_results(snapshot: Snapshot, primary: PrimaryMetric | None = None, tables: Tables = NO_EXAMPLES) -> Results:
    """Return the results at the shared recipe."""
    return results_of(at_shared_recipe(snapshot), primary, tables)


def own_results(
    snapshot: Snapshot, primary: PrimaryMetric | None = None, tables: Tables = NO_EXAMPLES
) -> Results | None:
    """Return the results with each arm at its own recipe; None before the selection."""
    own = at_own_recipes(snapshot)
    return None if own is None else results_of(own, primary, _renamed_examples(tables, _own(snapshot)))


def final_results(
    snapshot: Snapshot, primary: PrimaryMetric | None = None, tables: Tables = NO_EXAMPLES
) -> Results | None:
    """Return the results of the final comparison of a search, an experiment of arms; None without one.

    The held-out loss takes the place of a score whose tasks are all below their references, as in the search.
    """
    final = at_final_seeds(snapshot)
    if final is None:
        return None
    found = results_of(final, primary, _renamed_examples(tables, _final(snapshot)))
    declared, scored = found.experiment.headline_metrics, tasks_in_score(found.tasks, found.standings)
    comparable = found.experiment.pretraining.losses_compare
    headlines = objectives_in_effect(declared, scored, comparable) or declared
    return replace(found, experiment=found.experiment.with_parts(headline_metrics=headlines))


def compared_results(snapshot: Snapshot, tables: Tables) -> Results:
    """Return the results that the tables of a report show: the final comparison's, or those at the shared recipe."""
    return final_results(snapshot, None, tables) or shared_results(snapshot, None, tables)


def at_shared_recipe(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the arms at their own recipes."""
    shared = {arm.name: arm for arm in snapshot.arms if arm.tuned_from is None}
    return snapshot if len(shared) == len(snapshot.arms) else _renamed(snapshot, shared)


def at_own_recipes(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot with each arm at its own recipe; None before the selection.

    An arm keeps what the design declared of it, and when.
    """
    declared, own = {arm.name: arm for arm in snapshot.arms}, _own(snapshot)
    kept = ("position", "cohort", "levels", "matches", "after_record")
    rows = {
        name: replace(row, **{field: getattr(declared[name], field) for field in kept}) for name, row in own.items()
    }
    return _renamed(snapshot, rows) if rows else None


def at_final_seeds(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot of the final comparison; None of an experiment without one.

    Raises CorruptionError if this version cannot read the experiment.
    """
    final = snapshot.final
    if final is None:
        return None
    plan = final.plan
    experiment = final_experiment(
        experiment_of(snapshot.document), plan.finalists, plan.seeds, final.winner, plan.ranked_by
    )
    own = {record.key for history in snapshot.histories for record in history.records if not record.reused}
    histories = tuple(_without_marks(history, own) for history in final.histories)
    of_search = replace(snapshot, labels=plan.labels, histories=histories, importance={}, parents={}, final=None)
    compared = _renamed(of_search, _final(snapshot))
    return replace(compared, document=experiment.model_dump(mode="json"))


def _without_marks(history: TrialHistory, own: Set[str]) -> TrialHistory:
    """Return a trial whose records of stages that the search itself has trained are not marked as reused."""
    records = (replace(each, reused=each.reused and each.key not in own) for each in history.records)
    return replace(history, records=tuple(records))


def _own(snapshot: Snapshot) -> Shown:
    rows = {arm.name: arm for arm in snapshot.arms}
    choices = () if snapshot.tuning is None else snapshot.tuning.choices
    return {choice.arm: rows[choice.own] for choice in choices if choice.own in rows}


def _final(snapshot: Snapshot) -> Shown:
    return {} if snapshot.final is None else {str(arm.final_of): arm for arm in snapshot.final.arms}


def _renamed(snapshot: Snapshot, shown: Shown) -> Snapshot:
    """Return the snapshot restricted to these rows and their trials, renamed to the keys."""
    names = {row.name: name for name, row in shown.items()}
    trials = ((each, names.get(each.trial.arm)) for each in snapshot.histories)
    return replace(
        snapshot,
        arms=tuple(replace(row, name=name) for name, row in shown.items()),
        histories=tuple(replace(each, trial=replace(each.trial, arm=name)) for each, name in trials if name),
    )


def _renamed_examples(tables: Tables, shown: Shown) -> Tables:
    """Return the values of single examples of these rows, under the names of the keys."""
    names, found = {row.name: name for name, row in shown.items()}, {}
    for metric, table in tables.items():
        places = [at for at, replicate in enumerate(table.replicates) if replicate.arm in names]
        renamed = tuple(replace(table.replicates[at], arm=names[table.replicates[at].arm]) for at in places)
        found[metric] = replace(table, replicates=renamed, values=table.values[places])
    return found
