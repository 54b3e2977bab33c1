"""Growth of a study: whether a results folder may go on with a changed experiment, and what it declares then.

It may where no finished number would change. What the change leaves out is hidden and stays in the ledger.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runners.changed_files import changed_code, changed_stages, with_equal_code
from runners.dag import SharedStages, trial_stages
from runners.search_growth import refused_extension, searches_in
from runners.settings import GROWING
from runners.stage_labels import all_labels
from runners.stages.stage import ArmsMeasurementStage, Stage, stage_class, stage_kinds
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.stage_label import FINE_TUNE, PRETRAIN, StageLabel
from steeplechase.foundation.canonical import canonical_text, differences
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.amendments import amendments, declared_rows, latest_identity
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.records import Record, Status, TrialStatus
from steeplechase.ledger.rows import plain
from steeplechase.ledger.trial_history import histories_of

ENDED = (TrialStatus.FINISHED, TrialStatus.STOPPED, TrialStatus.DIVERGED)
RESULTS = (Status.FINISHED, Status.DIVERGED)
SHOWN = 3
"""Finished stages that a refusal names."""


@dataclass(frozen=True)
class Change:
    """The difference between an experiment and the one that a ledger holds."""

    declared: dict[str, JsonValue] | None
    """What the experiment declares, for `steeplechase.ledger.amendments`; None where every row is declared."""
    differs: bool = False
    """Whether anything that changes a result differs."""
    redeclared: bool = False
    """Whether it declares other arms, seeds or stages than the ledger shows, or in another order."""
    reasons: tuple[str, ...] = ()
    """Why a finished number would change, one line each; empty if the ledger may go on."""
    has_results: bool = False
    """Whether a trial has ended; only asked where a number would change."""
    allowed: str = ""
    """What may differ from the experiment in the folder; only said where a number would change."""


def change_of(rows: LedgerRows, experiment: Experiment, shared: SharedStages) -> Change:
    """Return the difference between an experiment and the latest version of it in a ledger."""
    identity = experiment.identity()
    known = latest_identity(rows, identity)
    declared = _declared(experiment, shared)
    differs = canonical_text(known) != canonical_text(identity)
    redeclared = declared is not None and _arms_shown(rows, declared) != _arms_of(declared)
    other_shared = _other_shared(rows, shared.by_label)
    if not (differs or redeclared or other_shared):
        return Change(declared)
    redeclared = redeclared or bool(other_shared)
    results: tuple[str, ...] = ()
    extension = None if experiment.may_grow else refused_extension(rows, experiment, known)
    if experiment.may_grow:
        results = tuple(_changed_results(rows, experiment, shared, known))
        results += tuple(_seeds_of_other_looks(rows, experiment, known))
        if not results and _same_kind(known, identity):
            return Change(declared, True, redeclared)
    elif not other_shared and extension is None:
        return Change(declared, True)
    results += (extension,) if extension else ()
    before = _with_hidden_arms(rows, known) if experiment.may_grow else known
    before, modules = with_equal_code(before, identity)
    compared = (_common(before, identity), _common(identity, before)) if experiment.may_grow else (before, identity)
    values = (*differences(*compared), *changed_code(rows, modules))
    others = () if values else changed_stages(declared_rows(rows), other_shared, shared.by_label)
    return Change(declared, True, redeclared, (*values, *others, *results), _has_results(rows), _allowed(known))


def _allowed(known: JsonValue) -> str:
    """Return what may differ in the folder of an experiment, by its identity."""
    if searches_in(known):
        return "more candidates and finalists may be added where no decision changes"
    if _part(known, "tune"):
        return "nothing else may differ, since tuning selects recipes from all results"
    if not _part(known, "pretraining", "seeds"):
        return "nothing else may differ, since all arms are measured together"
    return "arms, seeds and tasks may be added and left out"


def _same_kind(known: JsonValue, wanted: JsonValue) -> bool:
    """Return whether an earlier version has the name of the wanted one, and its arms were listed too."""
    assert isinstance(known, dict)
    assert isinstance(wanted, dict)
    listed = "design" in known and not searches_in(known) and not known.get("tune")
    return listed and known["experiment"] == wanted["experiment"]


def _declared(experiment: Experiment, shared: SharedStages) -> dict[str, JsonValue] | None:
    """Return what an experiment that may grow declares, None for another one."""
    if not experiment.may_grow:
        return None
    seeds = experiment.pretraining.seeds
    first = first_seeds(seeds)[0]
    from runners.search.next_arms import arm_row  # with the samplers, which a plan of a new study does not import

    arms = [arm_row(experiment, arm, place, 0, 0) for place, arm in enumerate(experiment.arms)]
    shown: list[JsonValue] = [
        {name: value for name, value in plain(arm).items() if value is not None and name != "after_record"}
        for arm in arms
    ]
    stages = dict.fromkeys(label for arm in arms for label in trial_stages(experiment, shared, arm.candidate, first))
    return {
        "arms": shown,
        "seeds": [*seeds] if isinstance(seeds, tuple) else None,
        "labels": [*all_labels(experiment)],
        "stages": [*stages],
        "shared": {label: stage.key for label, stage in shared.by_label.items()},
    }


def _arms_of(declared: Mapping[str, JsonValue]) -> list[str]:
    """Return the arms of a declaration in their order, with all that a table shows of them."""
    arms = declared["arms"]
    assert isinstance(arms, list)
    return [_shown(arm) for arm in arms if isinstance(arm, dict)]


def _shown(arm: Mapping[str, JsonValue]) -> str:
    return canonical_text([arm["name"], arm["changes"], arm.get("levels") or {}])


def _arms_shown(rows: LedgerRows, declared: Mapping[str, JsonValue]) -> list[str]:
    """Return the arms that a ledger shows; those of the declaration if none has entered yet."""
    latest = amendments(rows)[-1:]
    if latest and latest[0].declared is not None:
        return _arms_of(latest[0].declared)
    return [_shown(plain(arm)) for arm in rows.arms()] or _arms_of(declared)


def _other_shared(rows: LedgerRows, stages: Mapping[str, Stage]) -> tuple[str, ...]:
    """Return the labels of the shared stages whose results in the ledger are of another key."""
    shown = declared_rows(rows).records()
    keys = {record.label: record.key for record in shown if record.trial is None}
    return tuple(label for label, stage in stages.items() if keys.get(label, stage.key) != stage.key)


def _changed_results(
    rows: LedgerRows, experiment: Experiment, shared: SharedStages, known: JsonValue
) -> Iterator[str]:
    """Yield the finished stages of trials, hidden ones too, that would be others, the first few by name."""
    arms, seeds = {arm.name: arm for arm in experiment.arms}, experiment.pretraining.seeds
    searched = _part(known, "fine_tuning", "search") != _part(experiment.identity(), "fine_tuning", "search")
    results: dict[str, dict[str, Record]] = {}  # the latest of a stage: a metric that is added renews its record
    for record in rows.records():
        if record.trial is not None and record.status in RESULTS:
            results.setdefault(record.trial, {})[record.label] = record
    found: list[str] = []
    for trial in rows.trials():
        if trial.arm in arms and trial.name in results and not (isinstance(seeds, tuple) and trial.seed not in seeds):
            candidate = arms[trial.arm].candidate
            stages = trial_stages(experiment, shared, candidate, trial.seed)
            for record in results[trial.name].values():
                if _would_change(record, stages, candidate, searched):
                    found.append(f"{record.label} of {trial.name}")
    if any(label.startswith(f"{PRETRAIN}@") for label in found) and _part(known, "pretraining", "tokens") != _part(
        experiment.identity(), "pretraining", "tokens"
    ):
        yield "pretraining.tokens: the learning rate of these schedules depends on the budget: it is another training"
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        yield f"finished, and would be another number: {', '.join(found[:SHOWN])}{more}"


def _would_change(record: Record, stages: Mapping[str, Stage], candidate: Candidate, searched: bool) -> bool:
    """Return whether a result would be another one under the stages of its trial.

    A stage that is not declared is hidden. Of another budget it is so only where the training up to it depends on
    no budget; a fine-tuning is so only where its settings are not chosen among others.
    """
    label = StageLabel.parse(record.label)
    if label.kind == FINE_TUNE and searched:
        return any(StageLabel.parse(other).cell == label.cell for other in stages)
    if record.label in stages:
        return stages[record.label].key != record.key
    if label.kind != PRETRAIN or label.tokens is None:
        return False
    recipe = candidate.recipe
    return recipe.pruning is not None or recipe.schedule.horizon(label.tokens, label.tokens) is not None


def _seeds_of_other_looks(rows: LedgerRows, experiment: Experiment, known: JsonValue) -> Iterator[str]:
    """Yield what differs if `until_decided` would find trials that its own looks have not asked for, and why."""
    seeds = experiment.pretraining.seeds
    before, after = (_part(identity, "pretraining", "seeds") for identity in (known, experiment.identity()))
    differing = [] if isinstance(seeds, tuple) else [*differences(before, after, "pretraining.seeds")]
    beyond = sorted({trial.seed for trial in rows.trials()} - {*first_seeds(seeds)})
    if differing and beyond:
        yield from differing
        listed = ", ".join(map(str, beyond))
        yield f"pretraining.seeds: trials at seed {listed} are there, which until_decided adds at its looks alone"


def _part(document: JsonValue, *path: str) -> JsonValue:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _with_hidden_arms(rows: LedgerRows, known: JsonValue) -> JsonValue:
    """Return an identity with the arms of earlier versions that it lacks."""
    arms = _part(known, "design")
    if not isinstance(known, dict) or not isinstance(arms, dict):
        return known
    every: dict[str, JsonValue] = {}
    for version in (rows.fact("identity"), *(each.identity for each in amendments(rows))):
        listed = _part(version, "design")
        every |= listed if isinstance(listed, dict) else {}
    return {**known, "design": every | arms}


def _common(identity: JsonValue, other: JsonValue) -> JsonValue:
    """Return an identity without seeds, tasks, measurements, and the arms that another one lacks."""
    copy, arms = json.loads(canonical_text(identity)), _part(other, "design")
    for section, _, name in (key.partition(".") for key in GROWING):
        copy.get(section, {}).pop(name, None)
    if isinstance(arms, dict) and isinstance(copy.get("design"), dict):
        copy["design"] = {name: arm for name, arm in copy["design"].items() if name in arms}
    common: JsonValue = copy
    return common


def _has_results(rows: LedgerRows) -> bool:
    """Return whether a trial has ended under a version of the experiment, or all arms were measured together."""
    labels = [rows.fact("labels"), *(a.declared["labels"] for a in amendments(rows) if a.declared is not None)]
    versions = [tuple(map(str, each)) for each in labels if isinstance(each, list)]
    kinds = {record.stage for record in rows.records() if record.trial is None}
    if any(issubclass(stage_class(kind), ArmsMeasurementStage) for kind in kinds & stage_kinds().keys()):
        return True
    return any(history.status in ENDED for each in versions for history in histories_of(rows, each))
