"""Content of `plan`: arms with costs and table cells, cached stages, predicted time and disk."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from reports.statistics.isolated_pairs import isolated_pairs
from runners.conflicts import growth_lines
from runners.cost_estimate.past_runs import measured_under
from runners.cost_estimate.prediction import Prediction, disk_shortage, predicted
from runners.dag import SharedStages, shared_stages, trial_stages
from runners.missing_device import missing_device
from runners.part import WHOLE, Part
from runners.stage_labels import fine_tune_labels, has_long_sequence_phase, measure_labels
from runners.stages.stage import Stage
from runners.task_sources import table_notes, table_warnings
from search_space.cost import Convention
from steeplechase.commands.arguments import Chosen
from steeplechase.commands.planning.plan_published import document as published_document
from steeplechase.commands.planning.plan_tuning import TuningCost, plan_tuning_of, tuning_document
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.claims import parse_orderings
from steeplechase.configuration.designs import Factorial, Search
from steeplechase.configuration.designs.axes import grid_size
from steeplechase.configuration.designs.search import NON_ADAPTIVE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.validation.finishing import finishing_notes
from steeplechase.configuration.validation.warnings import warnings_of
from steeplechase.foundation.environment import memory_bytes
from steeplechase.foundation.errors import DataError, MachineError, UserError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths
from steeplechase.tasks.corpora.huggingface import HuggingFaceCorpus
from steeplechase.tasks.data_folder import HINT

ABSENT = (HINT, "no such file", "is not set", "pip install")
"""What lines about missing data contain."""
PAIRS_AMONG_AT_MOST = 128
"""Maximum number of arms for the search of pairs, which is quadratic."""


@dataclass(frozen=True)
class ArmPlan:
    """Plan of one arm."""

    arm: Arm
    parameters: int
    forward_flops: int
    train_flops: int
    cells: dict[str, tuple[str, ...]]
    """By table of the report: the metrics, pairs or claims that use the arm."""
    stages: int
    """Over all pretraining seeds."""
    cached: int | None
    """Number of stages with results in the store; None if their keys are unknown."""


@dataclass(frozen=True)
class Plan:
    """Arms, stages and predicted costs of an experiment."""

    arms: tuple[ArmPlan, ...]
    values_per_cell: tuple[int, int]
    """Pretraining seeds, and fine-tuning seeds per pretraining seed."""
    shared_stages: int
    shared_cached: int | None
    unknown: str
    """Reasons why the cache and the remaining costs are unknown; empty if they are known."""
    refusal: UserError | None
    """What `unknown` is from, with its exit code."""
    prediction: Prediction | None
    """For the stages that are not in the store; candidates of a search count at the baseline's size."""
    aliases: dict[str, str]
    """Duplicate arms: names in later designs for an existing arm."""
    impossible: tuple[tuple[str, ...], ...]
    """Impossible points: the name, then the reasons."""
    notes: tuple[str, ...] = field(default=())
    tuning: TuningCost | None = None
    warnings: tuple[str, ...] = ()
    """Warnings about likely mistakes in the experiment."""
    growth: tuple[str, ...] = ()
    """What `run` does with the results that the folder has of another version of the experiment."""

    @property
    def needs(self) -> str:
        """What is wrong with the data: missing, or malformed."""
        return "missing" if any(word in self.unknown for word in ABSENT) else "malformed"


def plan_of(
    chosen: Chosen, convention: Convention, places: ResultPaths, objects: str = "", part: Part = WHOLE
) -> Plan:
    """Return the plan of a part; `objects` is the URL of the object store of the stages, if it may be contacted.

    Raises CorruptionError if a ledger under the results is damaged.
    """
    experiment, arm_table = chosen.experiment, chosen.experiment.arm_table
    store = places.store(objects)
    shared: SharedStages | None
    refusal: UserError | None = None
    try:
        shared = shared_stages(experiment)
    except (DataError, MachineError) as error:  # the data of another scale may be on another machine
        shared, refusal = None, error
    cells = _cells(chosen)
    arms: list[ArmPlan] = []
    shared_list = [] if shared is None else list(shared.named().values())
    remaining: list[Stage] = [stage for stage in shared_list if not is_cached(store, stage)]
    missing_shared = len(remaining)
    seeds = [seed for seed in first_seeds(experiment.pretraining.seeds) if not part.seeds or seed in part.seeds]
    for arm in experiment.arms:
        if part.arms and arm.name not in part.arms:
            continue
        stages = [] if shared is None else stages_of_arm(experiment, shared, arm, part)
        missing = [stage for stage in stages if not is_cached(store, stage)]
        remaining += missing * candidates_like(experiment, arm)
        cached = None if shared is None else len(stages) - len(missing)
        planned = _arm_plan(chosen, arm, convention, cells.get(arm.name, {}), cached)
        arms.append(planned if part == WHOLE or shared is None else replace(planned, stages=len(stages)))
    tuning = plan_tuning_of(experiment, shared, convention, partial(is_cached, store), places.folder)
    remaining += tuning.remaining if tuning is not None else ()
    prediction = None if shared is None else predicted(remaining, measured_under(places.root, store))
    return Plan(
        arms=tuple(arms),
        values_per_cell=(len(seeds), len(experiment.fine_tuning.seeds)),
        shared_stages=0 if shared is None else len(shared.named()),
        shared_cached=None if shared is None else len(shared.named()) - missing_shared,
        unknown="" if refusal is None else "\n".join(refusal.lines),
        refusal=refusal,
        prediction=prediction,
        aliases=dict(arm_table.aliases),
        impossible=tuple((one.name, *one.reasons) for one in arm_table.impossible),
        notes=(*_notes(chosen), *table_notes(experiment.fine_tuning)),
        tuning=tuning,
        warnings=(
            *places.not_asked(objects),
            *warnings_of(experiment, memory_bytes()),
            *missing_device(experiment),
            *table_warnings(experiment.fine_tuning),
            *disk_shortage(prediction, places.root),
        ),
        growth=() if shared is None else growth_lines(places, experiment, shared, chosen.command),
    )


def _arm_plan(
    chosen: Chosen, arm: Arm, convention: Convention, cells: dict[str, tuple[str, ...]], cached: int | None
) -> ArmPlan:
    experiment, candidate = chosen.experiment, arm.candidate
    per_seed = len(experiment.pretraining.hurdle.rung_tokens) + 1 + len(fine_tune_labels(experiment))
    per_seed += len(measure_labels(experiment)) + has_long_sequence_phase(experiment, candidate)
    per_seed += candidate.recipe.pruning is not None
    return ArmPlan(
        arm=arm,
        parameters=candidate.parameters,
        forward_flops=candidate.architecture.forward_flops(candidate.recipe.sequence_length, convention),
        train_flops=candidate.train_flops(
            experiment.pretraining.tokens, experiment.baseline.architecture, convention
        ),
        cells=cells,
        stages=per_seed * len(first_seeds(experiment.pretraining.seeds)),
        cached=cached,
    )


def stages_of_arm(experiment: Experiment, shared: SharedStages, arm: Arm, part: Part) -> list[Stage]:
    """Return the stages of an arm's trials in a part, over all pretraining seeds."""
    return [
        stage
        for seed in first_seeds(experiment.pretraining.seeds)
        if part.has_trial(arm.name, seed)
        for label, stage in trial_stages(experiment, shared, arm.candidate, seed).items()
        if part.has_stage(label)
    ]


def candidates_like(experiment: Experiment, arm: Arm) -> int:
    """Return the number of candidates that an arm represents: of a search only the first are known."""
    search = experiment.search
    if search is None or arm.name != BASELINE:
        return 1
    return max(1, search.max_candidates - len(experiment.arms) + 1)


def is_cached(store: ArtifactStore, stage: Stage) -> bool:
    """Return whether the result of a stage is in the store."""
    return store.has(stage.kind, stage.key)


def _cells(chosen: Chosen) -> dict[str, dict[str, tuple[str, ...]]]:
    experiment = chosen.experiment
    tasks = tuple(sorted(experiment.fine_tuning.tasks))
    metrics = (HELD_OUT_LOSS, *tasks, *([SCORE] if len(tasks) > 1 else []))
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for arm in experiment.arms:
        found[arm.name] = {"results": metrics}
        if experiment.tune is not None and arm.name != BASELINE:
            found[arm.name]["tuned"] = metrics
    for arm in experiment.arms:
        for name in (arm.name, arm.matched_arm) if arm.matched_arm is not None else ():
            found[name]["matched"] = metrics
    for name, pairs in _pairs(experiment.arms).items():
        found[name]["isolated"] = pairs
    for name, text in _claimed(chosen):
        found[name]["claims"] = (*found[name].get("claims", ()), text)
    return found


def _claimed(chosen: Chosen) -> Iterator[tuple[str, str]]:
    """Yield each arm of a claim or an ordering, with its text."""
    experiment = chosen.experiment
    for claim in experiment.claims:
        yield from ((name, str(claim)) for name in claim.arms)
    for chain in experiment.paper.orderings if experiment.paper else ():
        for ordering in parse_orderings(chain):
            yield from ((name, str(ordering)) for name in (ordering.first, ordering.second))


def _pairs(arms: tuple[Arm, ...]) -> dict[str, tuple[str, ...]]:
    if len(arms) > PAIRS_AMONG_AT_MOST:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for pair in isolated_pairs(arms, arms[0].candidate):
        for name in (pair.arm, pair.reference):
            found[name] = (*found.get(name, ()), f"{pair.arm} − {pair.reference}")
    return found


def _notes(chosen: Chosen) -> list[str]:
    notes: list[str] = []
    corpus = chosen.experiment.corpus
    if isinstance(corpus, HuggingFaceCorpus):
        notes.append(f"corpus: {corpus.name} is read from the Hugging Face hub, which needs the network")
    for design in chosen.experiment.designs:
        if isinstance(design, Search):
            size = grid_size(design.space, chosen.experiment.baseline)
            programs = [f"programs of {stack} from {each.kind}" for stack, each in design.structure.items()]
            drawn = [f"{size:,} points at most, impossible ones included,"] if design.space else []
            notes.append(f"search: {' and '.join([*drawn, *programs])} are drawn from")
            notes.append(f"search: {_repeats(design, len(first_seeds(chosen.experiment.pretraining.seeds)))}")
            notes += [f"search: {note}" for note in finishing_notes(chosen.experiment)]
        else:
            notes += [f"{design.kind}: {note}" for note in design.notes()]
        if isinstance(design, Factorial):
            notes += [f"{design.kind}: {warning}" for warning in _missing_runs(chosen, design)]
    return notes


def _missing_runs(chosen: Chosen, design: Factorial) -> Iterator[str]:
    from steeplechase.configuration.designs.crossed import (  # numpy, for this design alone
        crossed,
        missing_runs_warning,
    )

    left_out = {one.name for one in chosen.experiment.arm_table.impossible}
    runs = crossed(design, chosen.experiment.baseline, left_out)
    if runs is not None and runs.missing:
        yield missing_runs_warning(runs)


def _repeats(design: Search, seeds: int) -> str:
    """Return what happens to a point that is proposed again; under a policy, its budget."""
    if design.policy is not None:
        at_once = "one candidate" if design.at_once == 1 else f"{design.at_once} candidates"
        return f"policy {design.policy} trains {at_once} at once, {design.trainings:g} full trainings in all"
    if design.sampler in NON_ADAPTIVE or (design.max_seeds or seeds) <= seeds:
        return "a candidate that is proposed again is drawn again; no seed is added"
    return (
        f"a candidate that is proposed again counts as one arm more: it is trained at a further seed, up to "
        f"{design.max_seeds} seeds, and so is the baseline, which does not count"
    )


def plan_document(chosen: Chosen, plan: Plan, convention: Convention) -> dict[str, JsonValue]:
    """Return the plan as plain data for other programs."""
    prediction = plan.prediction
    seeds, tuning_seeds = plan.values_per_cell
    return {
        "experiment": chosen.experiment.experiment,
        "scale": chosen.scale,
        "scales": [*chosen.scales],
        "flops_convention": convention.name,
        "arms": [_arm_document(arm) for arm in plan.arms],
        "values_per_cell": {"pretraining_seeds": seeds, "fine_tuning_seeds": tuning_seeds},
        "shared": {"stages": plan.shared_stages, "cached": plan.shared_cached},
        "prediction": None if prediction is None else _prediction_document(prediction),
        "unknown": plan.unknown or None,
        "aliases": {**plan.aliases},
        "impossible": [{"name": name, "reasons": [*reasons]} for name, *reasons in plan.impossible],
        "notes": [*plan.notes],
        "warnings": [*plan.warnings],
        "growth": [*plan.growth],
        **({} if plan.tuning is None else {"tuning": tuning_document(plan.tuning)}),
        "published": published_document(chosen.experiment),
    }


def _arm_document(plan: ArmPlan) -> JsonValue:
    return {
        "name": plan.arm.name,
        "changes": {**plan.arm.changes},
        "levels": {**plan.arm.levels},
        "matches": plan.arm.matches,
        "matched_arm": plan.arm.matched_arm,
        "matched_spend": plan.arm.matched_spend,
        "parameters": plan.parameters,
        "forward_flops": plan.forward_flops,
        "train_flops": plan.train_flops,
        "cells": {table: [*cells] for table, cells in plan.cells.items()},
        "stages": plan.stages,
        "cached": plan.cached,
    }


def _prediction_document(prediction: Prediction) -> JsonValue:
    ranges = {"seconds": prediction.seconds, "bytes": prediction.bytes}
    amounts: dict[str, JsonValue] = {
        name: None if one is None else {"middle": one.middle, "low": one.low, "high": one.high}
        for name, one in ranges.items()
    }
    return {
        **amounts,
        "start_seconds": prediction.start_seconds,
        "measured_stages": prediction.measured,
        "never_measured": [*prediction.never_measured],
    }
