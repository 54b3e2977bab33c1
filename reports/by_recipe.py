"""One ledger read twice: every arm at the shared recipe, and every arm at the one that tuning chose for it."""

from collections.abc import Mapping
from dataclasses import replace

from ledger.records import ArmRow
from ledger.snapshot import Snapshot


def at_shared_recipe(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the arms at their own recipes."""
    own = {arm.name for arm in snapshot.arms if arm.tuned_from is not None}
    return _of(snapshot, {arm.name: arm for arm in snapshot.arms if arm.name not in own}) if own else snapshot


def at_own_recipes(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot with each arm as it is at its own recipe, under its usual name; None before the choice."""
    if snapshot.tuning is None or not snapshot.tuning.choices:
        return None
    rows = {arm.name: arm for arm in snapshot.arms}
    chosen = {choice.arm: rows.get(choice.own) for choice in snapshot.tuning.choices}
    return _of(snapshot, {arm: _as(rows[arm], row) for arm, row in chosen.items() if row is not None})


def _as(arm: ArmRow, own: ArmRow) -> ArmRow:
    """Return the row at its own recipe in the place of the one at the shared recipe; its name still says which."""
    return replace(own, position=arm.position, cohort=arm.cohort, levels=arm.levels, matches=arm.matches)


def _of(snapshot: Snapshot, arms: Mapping[str, ArmRow]) -> Snapshot:
    """Return the snapshot of some rows, each with its trials under the name that it is given."""
    named = {row.name: name for name, row in arms.items()}
    return replace(
        snapshot,
        arms=tuple(replace(row, name=name) for name, row in arms.items()),
        histories=tuple(
            replace(one, trial=replace(one.trial, arm=named[one.trial.arm]))
            for one in snapshot.histories
            if one.trial.arm in named
        ),
    )
