"""Where a longer budget continues the trainings of a shorter one: the checkpoints of `pretraining`.

Pure. The learning rate up to a checkpoint must not depend on the budget: `constant`, `inverse_square_root`, and
`warmup_stable_decay` before its decay (Hägele et al. 2024, arXiv 2405.18392).
"""

from bisect import bisect_left
from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation

LOCATION = ("pretraining", "checkpoints")


def last_checkpoint(experiment: Experiment) -> int:
    """Return the most tokens from which a longer budget continues the baseline; 0 if its rates are of this budget.

    Within the warm-up no rate depends on the budget, which alone is no place to continue.
    """
    recipe, tokens = experiment.baseline.recipe, experiment.pretraining.tokens
    updates = recipe.steps(tokens)
    total = recipe.tokens_after(updates)
    if recipe.schedule.horizon(total, total) is None:
        return tokens

    def depends(update: int) -> bool:
        return recipe.schedule.horizon(total, recipe.tokens_after(update)) is not None

    last = recipe.tokens_after(max(0, bisect_left(range(updates), True, key=depends) - 1))
    return 0 if last <= recipe.schedule.warmup_tokens else min(tokens, int(last / recipe.token_share))


def checkpoint_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield checkpoints out of order or beyond the schedule's independent part, and those of a policy."""
    settings, recipe = experiment.pretraining, experiment.baseline.recipe
    if settings.checkpoints and experiment.search is not None and experiment.search.policy is not None:
        yield Violation(LOCATION, "candidates of a policy pause at its rungs alone; leave them out")
        return
    last = last_checkpoint(experiment)
    for position, tokens in enumerate(settings.checkpoints):
        where, before = (*LOCATION, position), settings.checkpoints[position - 1] if position else 0
        near = [end for end in settings.stage_ends if end != tokens and recipe.steps(end) == recipe.steps(tokens)]
        if tokens <= before:
            yield Violation(where, f"{tokens} is not above {before}; checkpoints must increase strictly")
        elif tokens >= settings.tokens:
            yield Violation(where, f"{tokens} is not below pretraining.tokens, {settings.tokens}")
        elif near:
            message = f"{tokens} ends with the same update of {recipe.tokens_of_last(tokens)} tokens as {near[0]}"
            yield Violation(where, message)
        elif tokens > last:
            yield Violation(where, f"{tokens}: {_dependence(recipe.schedule.kind, last)}")


def _dependence(schedule: str, last: int) -> str:
    allowed = f"allowed: at most {last}" if last else "constant, inverse_square_root and warmup_stable_decay allow it"
    return f"the rates of the schedule {schedule} depend on the whole budget there; {allowed}"


def continuation_notes(experiment: Experiment) -> Iterator[str]:
    """Yield where a longer budget continues these trainings, for `plan`; nothing where the schedule forbids it."""
    settings, last = experiment.pretraining, last_checkpoint(experiment) if experiment.pretrains else 0
    if settings.checkpoints:
        shared = ", ".join(f"{tokens:,}" for tokens in settings.checkpoints)
        yield f"pretraining: trainings up to {shared} tokens are shared with every budget that has these checkpoints"
    elif last == settings.tokens and last:
        yield f"pretraining: a longer budget with checkpoints: [{last}] continues these trainings"
    elif last:
        yield f"pretraining: with checkpoints: [{last}] here and there, a longer budget continues before the decay"
