"""The stages that a run of an experiment has yet to compute. No torch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from runners.dag import SharedStages, trial_stages
from runners.part import Part
from runners.stages.stage import Stage
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Status
from steeplechase.ledger.snapshot import open_rows


@dataclass(frozen=True)
class Remaining:
    """Stages without results; a trial that the results folder has whole needs none, whatever became of its files."""

    shared: list[Stage]
    """Outside trials; none where every trial is whole and the folder has their results too."""
    by_arm: dict[str, list[Stage]]
    """Of the known arms, by name."""
    counts: dict[str, int]
    """The number of all stages of these arms, with and without results."""

    def stages(self, experiment: Experiment) -> list[Stage]:
        """Return all of them, those that arms share once; an arm's count for every candidate like it."""
        trials = {stage.key: stage for stages in self.by_arm.values() for stage in stages}
        others = (
            stage
            for arm in experiment.arms
            for stage in self.by_arm.get(arm.name, []) * (candidates_like(experiment, arm) - 1)
        )
        return [*self.shared, *trials.values(), *others]


def remaining_of(
    experiment: Experiment,
    shared: SharedStages,
    part: Part,
    places: ResultPaths,
    store: ArtifactStore,
    reused: Iterable[Path] = (),
) -> Remaining:
    """Return what a part of an experiment has yet to compute, given the folders whose trials it takes over.

    Raises MachineError if one of these has no rows, CorruptionError if the rows of a folder are damaged.
    """
    own = [places.folder] if (places.folder / LEDGER_NAME).is_file() else []
    recorded = dict(chain.from_iterable(map(_results, [*own, *reused])))
    by_arm, counts = dict[str, list[Stage]](), dict[str, int]()
    for arm in experiment.arms:
        if not part.arms or arm.name in part.arms:
            trials = stages_by_trial(experiment, shared, arm, part)
            left = [stages for stages in trials if not all(_is_over(each, recorded) for each in stages)]
            by_arm[arm.name] = missing_of(store, chain.from_iterable(left))
            counts[arm.name] = sum(map(len, trials))
    everything = shared.by_label.values()
    whole = not any(by_arm.values()) and all(stage.key in recorded for stage in everything)
    return Remaining([] if whole else missing_of(store, everything), by_arm, counts)


def extent_known(experiment: Experiment) -> str:
    """Return of which arms or seeds the stages are known before results are; empty if of all."""
    if experiment.search is not None:
        return " of the known arms"
    seeds = experiment.pretraining.seeds
    return "" if isinstance(seeds, tuple) else f" at the first {seeds.until_decided.start} seeds"


def _results(folder: Path) -> list[tuple[str, Status]]:
    """Return the keys of the stages whose results a folder has, and whether they diverged."""
    with open_rows(folder) as rows:
        return [(record.key, record.status) for record in rows.records() if record.status is not Status.FAILED]


def _is_over(stage: Stage, recorded: Mapping[str, Status]) -> bool:
    """Return whether a stage has a result, or is not computed because one that it reads diverged."""
    return stage.key in recorded or _diverged(stage, recorded)


def _diverged(stage: Stage, recorded: Mapping[str, Status]) -> bool:
    inputs = stage.inputs.values()
    return recorded.get(stage.key) is Status.DIVERGED or any(_diverged(each, recorded) for each in inputs)


def stages_by_trial(experiment: Experiment, shared: SharedStages, arm: Arm, part: Part) -> list[list[Stage]]:
    """Return the stages of each of an arm's trials in a part, by pretraining seed."""
    seeds = (seed for seed in first_seeds(experiment.pretraining.seeds) if part.has_trial(arm.name, seed))
    trials = (trial_stages(experiment, shared, arm.candidate, seed) for seed in seeds)
    return [[stage for label, stage in trial.items() if part.has_stage(label)] for trial in trials]


def candidates_like(experiment: Experiment, arm: Arm) -> int:
    """Return the number of candidates that an arm represents: of a search only the first are known."""
    search = experiment.search
    if search is None or arm.name != BASELINE:
        return 1
    return max(1, search.max_candidates - len(experiment.arms) + 1)


def missing_of(store: ArtifactStore, stages: Iterable[Stage]) -> list[Stage]:
    """Return the stages whose results are not in the store."""
    return [stage for stage in stages if not (store.may_have(stage.kind) and store.has(stage.kind, stage.key))]
