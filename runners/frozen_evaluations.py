"""Stages of tasks that are evaluated on a frozen encoder, and of untrained encoders, the reference of every task."""

from collections.abc import Callable, Mapping

from runners.stages.declarations import LinearProbeStage, MinimalPairsStage, UntrainedStage
from runners.stages.stage import Stage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import FineTuningRun, settings_of
from steeplechase.configuration.stage_label import LINEAR_PROBE, MINIMAL_PAIRS, UNTRAINED, StageLabel


def frozen_evaluation(
    experiment: Experiment, candidate: Candidate, task: str, sources: Mapping[str, Stage], tokens: Stage
) -> Stage | None:
    """Return the stage of a task that leaves the encoder frozen; None for one that is fine-tuned.

    `sources` are the stages of the pretrained weights and of the examples.
    """
    method = experiment.fine_tuning.find(task).method
    if method == LINEAR_PROBE:
        device = candidate.recipe.device
        return Stage(LinearProbeStage(architecture=candidate.architecture, task=task, device=device), sources)
    if method == MINIMAL_PAIRS:
        declaration = MinimalPairsStage(
            candidate=_as_pretrained(candidate),
            generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
            task=task,
        )
        return Stage(declaration, {**sources, "tokens": tokens})
    return None


def untrained_stages(
    experiment: Experiment, tokens: Stage, evaluated: Callable[[Candidate, Stage, int, FineTuningRun], Stage]
) -> dict[str, Stage]:
    """Return the untrained encoders of the baseline and their evaluation on every task, by label.

    Both seeds of a fine-tuning are the encoder's; settings are those without a search. An encoder with supersense
    embeddings reads the supersenses of the vocabulary from `tokens`.
    """
    stages: dict[str, Stage] = {}
    tuning, candidate = experiment.fine_tuning, experiment.baseline
    generator = candidate.objective.generator_of(candidate.architecture, candidate.architecture)
    sources = {"tokens": tokens} if candidate.architecture.supersenses else {}
    for seed in tuning.untrained_seeds if tuning.tasks else ():
        declaration = UntrainedStage(candidate=_as_pretrained(candidate), generator=generator, seed=seed)
        encoder = Stage(declaration, sources)
        stages[str(StageLabel(UNTRAINED, number=seed))] = encoder
        for task in sorted(tuning.tasks):
            run = FineTuningRun(task, seed, settings_of(tuning, task), {}, None)
            stages[str(StageLabel(UNTRAINED, task=task, seed=seed))] = evaluated(candidate, encoder, seed, run)
    return stages


def _as_pretrained(candidate: Candidate) -> Candidate:
    return candidate.pretrained.model_copy(update={"recipe": candidate.recipe.main_phase})
