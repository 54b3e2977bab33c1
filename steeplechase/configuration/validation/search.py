"""Rules between a search and the rest of an experiment: what is proposed can be trained, compared and paid for."""

from collections.abc import Iterator
from itertools import islice, product

from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride, apply
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import JsonValue

POINTS_TRIED = 512
"""Combinations of values that are tried before a space is taken for possible."""


def search_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a second search, spaces without a candidate, budgets of none, and objectives that nothing measures."""
    searches = [position for position, design in enumerate(experiment.designs) if isinstance(design, Search)]
    for position in searches[1:]:
        yield Violation(("design", position), "a second search; an experiment has one")
    if searches and experiment.match is not None:
        message = "budget-matched arms need declared arms; a search proposes its own later. Did you mean constraints?"
        yield Violation(("match",), message)
    for position in searches[:1]:
        design = experiment.designs[position]
        assert isinstance(design, Search)
        where = ("design",) if len(experiment.designs) == 1 else ("design", position)
        found = (*_size_violations(experiment, design), *_budget_violations(experiment, design))
        yield from (violation.under(*where) for violation in found)


def rung_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield rungs that do not increase, are not below the budget, or end with the same update as another."""
    rungs, tokens = experiment.pretraining.hurdle.rung_tokens, experiment.pretraining.tokens
    recipe = experiment.baseline.recipe
    update = f"update of {recipe.tokens_per_step} tokens (recipe.sequence_length x recipe.batch_sequences)"
    for position, rung in enumerate(rungs):
        location, before = ("pretraining", "hurdle", "rungs", position), rungs[position - 1] if position else 0
        if position and rung <= before:
            yield Violation(location, f"{rung} is not above {before}; rungs must increase strictly")
        elif position and recipe.steps(rung) == recipe.steps(before):
            yield Violation(location, f"{rung} ends with the same {update} as {before}; write rungs further apart")
        if rung >= tokens:
            yield Violation(location, f"{rung} is not below pretraining.tokens, {tokens}")
        elif recipe.steps(rung) == recipe.steps(tokens):
            yield Violation(location, f"{rung} ends with the last {update}, as pretraining.tokens, {tokens}, does")


def _size_violations(experiment: Experiment, design: Search) -> Iterator[Violation]:
    """Yield a search that has no candidate beside the baseline."""
    if design.max_candidates == 1:
        yield Violation(("max_candidates",), "1 is the baseline alone; at least 2 are needed")
    if (
        not design.structure
        and design.space
        and all(design.space.values())
        and not _any_candidate(experiment, design)
    ):
        message = "no point of this space is possible beside the baseline; widen the axes or the constraints"
        yield Violation(("space",), message)


def _any_candidate(experiment: Experiment, design: Search) -> bool:
    """Return whether a point other than the baseline is possible, or the space is too large to tell."""
    paths = tuple(design.space)
    choices = [
        (*values, None) if path.rpartition(".")[0] in design.space else values
        for path, values in design.space.items()
    ]
    tried = 0
    for values in islice(product(*choices), POINTS_TRIED):
        tried += 1
        changes: dict[str, JsonValue] = {
            path: value for path, value in zip(paths, values, strict=True) if value is not None
        }
        try:
            candidate = apply(experiment.baseline, changes)
        except InvalidOverride:
            continue
        if candidate != experiment.baseline and broken_by(candidate, experiment.constraints) is None:
            return True
    return tried == POINTS_TRIED


def _budget_violations(experiment: Experiment, design: Search) -> Iterator[Violation]:
    """Yield a policy's budget below its first rung, and scores without a task."""
    rungs, tokens = experiment.pretraining.hurdle.rung_tokens, experiment.pretraining.tokens
    if design.policy is not None and design.trainings is not None and rungs and rungs[0] > design.trainings * tokens:
        message = (
            f"{design.trainings:g} trainings of {tokens} tokens are fewer tokens than the first rung, {rungs[0]}; "
            "no candidate could be trained"
        )
        yield Violation(("trainings",), message)
    if "score" in design.objectives and not experiment.fine_tuning.tasks:
        message = "score needs a downstream task; name one in fine_tuning.tasks. Did you mean held_out_loss?"
        yield Violation(("objectives", design.objectives.index("score")), message)
