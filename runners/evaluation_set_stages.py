"""The stages that build held-out evaluation sets: the one that all arms share, and those of other objectives."""

from runners.stages.declarations import EvaluationSetStage
from runners.stages.stage import Stage
from search_space.objective import Objective
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.experiment_objectives import objectives_of


def other_evaluation_sets(experiment: Experiment, tokens: Stage) -> dict[str, Stage]:
    """Return the sets of the objectives that measure another held-out loss, as the first arm of each declares."""
    shared = experiment.baseline.objective.evaluation
    found: dict[str, Stage] = {}
    for objective in objectives_of(experiment):
        if not objective.measured_on(shared) and objective.evaluation not in found:
            found[objective.evaluation] = evaluation_set_stage(experiment, tokens, objective)
    return found


def evaluation_set_stage(experiment: Experiment, tokens: Stage, other: Objective | None) -> Stage:
    """Return the stage of the evaluation set that all arms share, made as the baseline's objective declares.

    With an `other` objective, that of its arms, made as it declares for the baseline.

    An objective with a reference generator has it as the reference candidate, in place of the baseline.
    """
    baseline = experiment.pretraining.evaluation_reference or experiment.baseline
    objective = other or baseline.objective
    generator = objective.reference_generator(baseline.architecture)
    changes = {
        "architecture": generator or baseline.architecture,
        "objective": objective.reference,
        "recipe": baseline.recipe.main_phase,
    }
    declaration = EvaluationSetStage(
        reference=baseline.pretrained.model_copy(update=changes),
        objective=objective.evaluation,
        sequences=experiment.pretraining.held_out_sequences,
        generator_tokens=0 if generator is None else experiment.pretraining.reference_generator_tokens,
    )
    return Stage(declaration, {"tokens": tokens})
