"""Two views of a snapshot: every arm at the shared recipe, and every arm at the recipe that tuning selected."""

from collections.abc import Mapping
from dataclasses import replace

from ledger.records import ArmRow
from ledger.snapshot import Snapshot


def at_shared_recipe(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the arms at their own recipes."""
    own = {arm.name for arm in snapshot.arms if arm.tuned_from is not None}
    return _of(snapshot, {arm.name: arm for arm in snapshot.arms if arm.name not in own}) if own else snapshot


def at_own_recipes(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot with each arm at its own recipe, under its usual name; None before the selection."""
    if snapshot.tuning is None or not snapshot.tuning.choices:
        return None
    rows = {arm.name: arm for arm in snapshot.arms}
    chosen = {choice.arm: rows.get(choice.own) for choice in snapshot.tuning.choices}
    return _of(snapshot, {arm: _as(rows[arm], row) for arm, row in chosen.items() if row is not None})


def _as(arm: ArmRow, own: ArmRow) -> ArmRow:
    """Return the row of the own recipe with the position, cohort, levels and matches of the arm."""
    return replace(own, position=arm.position, cohort=arm.cohort, levels=arm.levels, matches=arm.matches)


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
