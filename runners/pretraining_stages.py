"""The declarations of a trial's pretraining stages: up to a rung, at longer sequences, and of pruning."""

from typing import Any

from runners.stages.declarations import PRUNING_VERSION, PretrainStage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment


def pretraining(experiment: Experiment, candidate: Candidate, seed: int, steps: tuple[int, int]) -> PretrainStage:
    """Return the declaration of the updates from `steps[0]` to `steps[1]`."""
    from_step, to_step = steps
    settings = experiment.pretraining
    total_steps = candidate.recipe.steps(settings.tokens)
    evaluations = min(settings.evaluations, total_steps)  # at most one after each update
    all_evaluations = {max(1, total_steps * number // evaluations) for number in range(1, evaluations + 1)}
    evaluation_steps = {step for step in all_evaluations if from_step < step <= to_step} | {to_step}
    candidate = candidate.model_copy(update={"recipe": candidate.recipe.main_phase})
    return _stage(
        experiment,
        candidate,
        seed,
        steps,
        evaluation_steps=tuple(sorted(evaluation_steps)),
        horizon_tokens=_horizon(candidate, total_steps, to_step),
    )


def pruning(experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> PretrainStage:
    """Return the pruning after `from_step` updates of pretraining, and the training of what remains."""
    settings = candidate.recipe.pruning
    assert settings is not None
    steps = (from_step, from_step + settings.updates(from_step))
    return _stage(experiment, candidate, seed, steps, horizon_tokens=None, pruning_version=PRUNING_VERSION)


def long_sequence_phase(experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> PretrainStage:
    """Return the pretraining of the same candidate at the longer sequence length of its recipe."""
    to_step = from_step + candidate.recipe.long_sequence_updates(from_step)
    candidate = candidate.model_copy(update={"recipe": candidate.recipe.of_long_sequences})
    horizon = _horizon(candidate, to_step, to_step)
    return _stage(experiment, candidate, seed, (from_step, to_step), horizon_tokens=horizon)


def _stage(
    experiment: Experiment, candidate: Candidate, seed: int, steps: tuple[int, int], **further: Any
) -> PretrainStage:
    """Return the declaration with what all phases share; the held-out loss is measured after the last update."""
    generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
    from_step, to_step = steps
    fields = {"evaluation_steps": (to_step,), **further}
    return PretrainStage(
        candidate=candidate.pretrained, generator=generator, seed=seed, from_step=from_step, to_step=to_step, **fields
    )


def _horizon(candidate: Candidate, total_steps: int, to_step: int) -> int | None:
    """Return the tokens over which the schedule decays, of updates that end at `to_step` of `total_steps`."""
    tokens_per_step = candidate.recipe.tokens_per_step
    return candidate.recipe.schedule.horizon(total_steps * tokens_per_step, to_step * tokens_per_step)
