"""Validation of the arms' objectives: what they are measured on, and whether their encoders are trained."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.experiment_objectives import searched_objectives
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.errors import Violation


def objective_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms that cannot be compared on the baseline's evaluation set, or not at a matched budget."""
    yield from _evaluation_violations(experiment)
    yield from _pruning_violations(experiment)


def _evaluation_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms whose held-out loss is not that of the baseline's evaluation set."""
    evaluated = experiment.baseline.objective.evaluation
    others = [arm.name for arm in experiment.accepted_arms if not arm.candidate.objective.measured_on(evaluated)]
    if others and experiment.pretraining.evaluation_sets == "by_objective":
        yield from _by_objective_violations(experiment)
        others = []
    searched = (each for each in searched_objectives(experiment) if not each.measured_on(evaluated))
    others += dict.fromkeys(each.kind for each in searched)
    if others:
        verb = "trains" if len(others) == 1 else "train"
        reason = (
            f"{verb} with another objective than the baseline ({evaluated}); held-out losses would not be comparable"
        )
        message = f"{', '.join(others)} {reason}. Give each objective its own scale"
        yield Violation(("design",), f"{message}, or write pretraining.evaluation_sets: by_objective")


def _by_objective_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield what needs the held-out losses of arms that have none in common."""
    location = ("pretraining", "evaluation_sets")
    if not experiment.fine_tuning.tasks:
        yield Violation(location, "by_objective compares arms on tasks alone, and fine_tuning.tasks is empty")
    seeds = experiment.pretraining.seeds
    if not isinstance(seeds, tuple) and HELD_OUT_LOSS in seeds.until_decided.margin:
        message = "seeds.until_decided has a margin of held_out_loss, on which by_objective compares no arms"
        yield Violation(location, message)


def untrained_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms whose budget ends before the first update of the encoder."""
    tokens = experiment.pretraining.tokens
    for arm in experiment.accepted_arms:
        before = arm.candidate.objective.tokens_before_encoder
        if before and experiment.initial_checkpoint(arm.candidate) is not None:
            message = f"{arm.name} starts its encoder from its generator, which would overwrite the checkpoint"
            yield Violation(("pretraining", "init_checkpoint"), message)
        if before >= tokens and experiment.pretrains:
            message = f"{arm.name} trains its generator alone for {before} tokens; pretraining.tokens is {tokens}"
            yield Violation(("design",), f"{message}, so that its encoder would never be trained")


def _pruning_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a matched budget with pruned arms, whose sizes are known after the run only."""
    if experiment.match is None:
        return
    pruned = [arm.name for arm in experiment.accepted_arms if arm.candidate.recipe.pruning is not None]
    if pruned:
        message = f"{', '.join(pruned)} are pruned to a size of their own; a matched budget needs arms of fixed sizes"
        yield Violation(("match",), message)
