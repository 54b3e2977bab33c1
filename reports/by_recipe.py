"""Two views of a snapshot: every arm at the shared recipe, and every arm at the recipe that tuning selected."""

from collections.abc import Mapping
from dataclasses import replace

from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.snapshot import Snapshot


def at_shared_recipe(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the arms at their own recipes."""
    own = {arm.name for arm in snapshot.arms if arm.tuned_from is not None}
    return _of(snapshot, {arm.name: arm for arm in snapshot.arms if arm.name not in own}) if own else snapshot


def at_own_recipes(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot with each arm at its own recipe, under its usual name; None before the selection."""
    rows, chosen = {arm.name: arm for arm in snapshot.arms}, _chosen(snapshot)
    return _of(snapshot, {arm: _as(rows[arm], row) for arm, row in chosen.items()}) if chosen else None


def examples_at_own_recipes(snapshot: Snapshot, tables: Mapping[str, ExampleTable]) -> dict[str, ExampleTable]:
    """Return the values of single examples of each arm at its own recipe, under its usual name."""
    names = {row.name: arm for arm, row in _chosen(snapshot).items()}
    return {metric: renamed_examples(table, names) for metric, table in tables.items()}


def renamed_examples(table: ExampleTable, names: Mapping[str, str]) -> ExampleTable:
    """Return the values of the arms that are keys of `names`, under the names that these have there."""
    places = [at for at, replicate in enumerate(table.replicates) if replicate.arm in names]
    renamed = tuple(replace(table.replicates[at], arm=names[table.replicates[at].arm]) for at in places)
    return replace(table, replicates=renamed, values=table.values[places])


def _chosen(snapshot: Snapshot) -> dict[str, ArmRow]:
    """Return by arm the row at its own recipe; nothing before the selection."""
    rows = {arm.name: arm for arm in snapshot.arms}
    choices = () if snapshot.tuning is None else snapshot.tuning.choices
    return {choice.arm: rows[choice.own] for choice in choices if choice.own in rows}


def _as(arm: ArmRow, own: ArmRow) -> ArmRow:
    """Return the row of the own recipe with what the design declared of the arm, and when."""
    return replace(
        own,
        position=arm.position,
        cohort=arm.cohort,
        levels=arm.levels,
        matches=arm.matches,
        after_record=arm.after_record,
    )


def _of(snapshot: Snapshot, arms: Mapping[str, ArmRow]) -> Snapshot:
    """Return the snapshot restricted to these rows and their trials, renamed to the keys."""
    report_names = {row.name: name for name, row in arms.items()}
    return replace(
        snapshot,
        arms=tuple(replace(row, name=name) for name, row in arms.items()),
        histories=tuple(
            replace(history, trial=replace(history.trial, arm=report_names[history.trial.arm]))
            for history in snapshot.histories
            if history.trial.arm in report_names
        ),
    )
