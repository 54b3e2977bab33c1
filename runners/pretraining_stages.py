"""The declarations of a trial's pretraining stages: up to a rung, at longer sequences, and of pruning."""

from configuration.experiment import Experiment
from runners.stages.declarations import PRUNING_VERSION, PretrainStage
from search_space.candidate import Candidate


def pretraining(experiment: Experiment, candidate: Candidate, seed: int, steps: tuple[int, int]) -> PretrainStage:
    """Return the declaration of the updates from `steps[0]` to `steps[1]`."""
    from_step, to_step = steps
    settings = experiment.pretraining
    total_steps = candidate.recipe.steps(settings.tokens)
    evaluations = settings.evaluations
    all_evaluations = {max(1, total_steps * number // evaluations) for number in range(1, evaluations + 1)}
    evaluation_steps = {step for step in all_evaluations if from_step < step <= to_step} | {to_step}
    return PretrainStage(
        candidate=candidate.model_copy(update={"recipe": candidate.recipe.main_phase}),
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=from_step,
        to_step=to_step,
        evaluation_steps=tuple(sorted(evaluation_steps)),
        horizon_tokens=candidate.recipe.schedule.horizon(
            total_steps * candidate.recipe.tokens_per_step, to_step * candidate.recipe.tokens_per_step
        ),
    )


def pruning(experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> PretrainStage:
    """Return the pruning after `from_step` updates of pretraining, and the training of what remains."""
    settings = candidate.recipe.pruning
    assert settings is not None
    to_step = from_step + settings.updates(from_step)
    return PretrainStage(
        candidate=candidate,
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=from_step,
        to_step=to_step,
        evaluation_steps=(to_step,),
        horizon_tokens=None,
        pruning_version=PRUNING_VERSION,
    )


def long_sequence_phase(experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> PretrainStage:
    """Return the pretraining of the same candidate at the longer sequence length of its recipe."""
    to_step = from_step + candidate.recipe.long_sequence_updates(from_step)
    candidate = candidate.model_copy(update={"recipe": candidate.recipe.of_long_sequences})
    return PretrainStage(
        candidate=candidate,
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=from_step,
        to_step=to_step,
        evaluation_steps=(to_step,),
        horizon_tokens=candidate.recipe.schedule.horizon(
            to_step * candidate.recipe.tokens_per_step, to_step * candidate.recipe.tokens_per_step
        ),
    )
