"""Rules between a search and the rest of an experiment: what is proposed can be trained, compared and paid for.

How many candidates can finish follows from hurdle, cohorts, budget and the size of the space.
"""

from collections.abc import Iterator
from itertools import islice
from math import floor

from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride, apply
from steeplechase.configuration.arm import BASELINE, changed_arm
from steeplechase.configuration.designs import Search
from steeplechase.configuration.designs.axes import grid, grid_size
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.policies import policy_of
from steeplechase.configuration.policies.policy import ROUNDING
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.errors import Violation

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
    rungs, tokens = experiment.pretraining.rung_tokens, experiment.pretraining.tokens
    recipe = experiment.baseline.recipe
    for position, rung in enumerate(rungs):
        update = f"update of {recipe.tokens_of_last(rung)} tokens (recipe.sequence_length x recipe.batch_sequences)"
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
        and not any("space" in violation.path for violation in experiment.arm_table.violations)
        and (reason := _no_candidate(experiment, design)) is not None
    ):
        message = "no point of this space is possible beside the baseline; widen the axes or the constraints"
        yield Violation(("space",), f"{message}{reason}")


def _no_candidate(experiment: Experiment, design: Search) -> str | None:
    """Return the commonest reason, a constraint before all, if no point but the baseline is possible; else None.

    None as well of a space too large to tell.
    """
    tried, impossible, broken = 0, dict[str, list[str]](), dict[str, list[str]]()
    for changes in islice(grid(design.space, experiment.baseline), POINTS_TRIED):
        tried += 1
        try:
            candidate = apply(experiment.baseline, changes)
        except InvalidOverride as reason:
            impossible.setdefault(str(reason), []).append(str(reason))
            continue
        if candidate == experiment.baseline:
            continue
        found = ((text, broken_by(candidate, (text,))) for text in experiment.constraints)
        constraint, why = next(((text, why) for text, why in found if why is not None), ("", None))
        if why is None:
            return None
        broken.setdefault(constraint, []).append(why)
    if tried == POINTS_TRIED:
        return None
    reasons: list[str] = max((broken or impossible).values(), key=len, default=[])
    return f". {len(reasons)} of {tried} tried: {reasons[0]}" if reasons else ""


def _budget_violations(experiment: Experiment, design: Search) -> Iterator[Violation]:
    """Yield a policy's budget below its first rung, and scores without a task."""
    rungs, tokens = experiment.pretraining.rung_tokens, experiment.pretraining.tokens
    if design.policy is not None and design.trainings is not None and rungs and rungs[0] > design.trainings * tokens:
        message = (
            f"{design.trainings:g} trainings of {tokens} tokens are fewer tokens than the first rung, {rungs[0]}; "
            "no candidate could be trained"
        )
        yield Violation(("trainings",), message)
    if "score" in design.objectives and not experiment.fine_tuning.tasks:
        message = "score needs a downstream task; name one in fine_tuning.tasks. Did you mean held_out_loss?"
        yield Violation(("objectives", design.objectives.index("score")), message)


def policy_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a policy without pauses, pauses without a policy, and arms that no policy could propose."""
    search, hurdle = experiment.search, experiment.pretraining.hurdle
    pauses = hurdle.kind == "pause"
    policy = None if search is None else search.policy
    if policy is None:
        if pauses and search is not None:
            message = "no one decides at its rungs. Did you mean to name a policy in the design, policy: tournament?"
            yield Violation(("pretraining", "hurdle", "kind"), message)
        return
    if not pauses:
        message = (
            f"policy {policy} needs rungs at which trials pause: {{kind: pause, rungs: [...]}}, not {hurdle.kind}"
        )
        yield Violation(("pretraining", "hurdle", "kind"), message)
    if names := [arm.name for arm in experiment.accepted_arms if arm.name != BASELINE]:
        message = f"policy {policy} draws every candidate itself; {', '.join(names)} would not enter. Leave them out"
        yield Violation(("design",), message)


POINTS_COUNTED = 512
"""Largest grid of which the possible points are counted."""


def finishing_notes(experiment: Experiment) -> Iterator[str]:
    """Yield the size of a space with fewer points than candidates, and how many of the candidates can finish."""
    design = experiment.search
    if design is None:
        return
    asked = asked_candidates(experiment, design)
    points = possible_points(experiment, design, asked)
    seeds = len(first_seeds(experiment.pretraining.seeds))
    if points is not None and points * (1 + max(0, (design.max_seeds or seeds) - seeds)) < asked:
        yield points_text(experiment, points, asked)
        asked = points
    most = most_finished(experiment, design)
    if most < asked:
        yield f"at most {most} of {asked} candidates can finish: {_reason(experiment, design)}"


def finishing_warnings(experiment: Experiment) -> Iterator[str]:
    """Yield that no candidate of a search can finish, or that most of them only set the hurdles."""
    design = experiment.search
    if design is None:
        return
    asked, most = asked_candidates(experiment, design), most_finished(experiment, design)
    hurdle = experiment.pretraining.hurdle
    if design.policy is not None:
        if asked and not most:
            yield f"no candidate can finish: {_reason(experiment, design)}. Write a larger design.trainings"
    elif hurdle.kind == "progressive_mean" and most < asked / 2:
        can = f"at most {most} can finish" if most else "none can finish"
        yield (
            f"with {asked} candidates and cohort {design.cohort} the cohorts only set the hurdles: {can}. Write more "
            "max_candidates, a smaller cohort or fewer rungs"
        )


def asked_candidates(experiment: Experiment, design: Search) -> int:
    """Return the number of candidates that are asked for beside the arms of the file, repeats included."""
    return max(0, design.max_candidates - len(experiment.arm_table.arms))


def points_text(experiment: Experiment, points: int, asked: int) -> str:
    """Return that the space has fewer possible points than candidates are asked for."""
    beside = "the baseline" if len(experiment.arm_table.arms) == 1 else "the arms of the file"
    return f"the space has {points} point{'' if points == 1 else 's'} beside {beside}: {points} of {asked} candidates"


def possible_points(experiment: Experiment, design: Search, at_most: int) -> int | None:
    """Return the number of possible points that are no arm of the file; None of programs and of large spaces.

    More than `at_most` are not counted.
    """
    if design.structure or grid_size(design.space, experiment.baseline) > POINTS_COUNTED:
        return None
    points, listed = set[str](), {arm.identity for arm in experiment.arm_table.arms}
    for changes in grid(design.space, experiment.baseline):
        if len(points) == at_most:
            break
        try:
            arm = changed_arm("", experiment.baseline, changes)
        except InvalidOverride:
            continue
        if broken_by(arm.candidate, experiment.constraints) is None and arm.identity not in listed:
            points.add(arm.identity)
    return len(points)


def most_finished(experiment: Experiment, design: Search) -> int:
    """Return the largest number of candidates that can finish, whatever their values, without ties and divergence."""
    asked = asked_candidates(experiment, design)
    points = possible_points(experiment, design, asked)
    asked = asked if points is None else min(asked, points)
    if design.policy is not None:
        return _most_under_policy(experiment, design, asked)
    sizes, seeds = _cohorts(experiment, design), len(first_seeds(experiment.pretraining.seeds))
    most = experiment.pretraining.hurdle.most_finished(sizes)
    listed = len(experiment.arm_table.arms) - 1
    return min(asked + listed, sum(min(size, number * seeds) for size, number in zip(sizes, most, strict=True)))


def _cohorts(experiment: Experiment, design: Search) -> list[int]:
    """Return the number of candidates in every cohort; the first has the arms of the file, without the baseline."""
    listed, sizes, left = len(experiment.arm_table.arms), list[int](), design.max_candidates
    while left > 0:
        size = experiment.pretraining.hurdle.cohort_size(len(sizes), design.cohort)
        entered = max(listed, min(left, size)) if not sizes else min(left, size)
        sizes.append(entered - (0 if sizes else 1))
        left -= entered
    return sizes


def _most_under_policy(experiment: Experiment, design: Search, asked: int) -> int:
    """Return how many full trainings the policy's budget has, less what its hurdles or its share of one take."""
    assert design.trainings is not None
    assert design.policy is not None
    pretraining = experiment.pretraining
    shares = [rung / pretraining.tokens for rung in pretraining.rung_tokens]
    most = policy_of(design.policy).most_finished(design.trainings, shares, design.tournament, asked)
    return max(0, floor(most + ROUNDING))


def _reason(experiment: Experiment, design: Search) -> str:
    hurdle = experiment.pretraining.hurdle
    if design.policy is not None and design.trainings is not None:
        rungs = len(experiment.pretraining.rung_tokens)
        return policy_of(design.policy).limit(design.trainings, rungs, design.tournament)
    if hurdle.kind == "progressive_mean":
        setting = min(len(experiment.pretraining.rung_tokens), len(_cohorts(experiment, design)))
        sizes = sum(_cohorts(experiment, design)[:setting])
        cohorts = "cohort" if setting == 1 else f"{setting} cohorts"
        verb = "sets the hurdle" if setting == 1 else "set the hurdles, one each"
        return f"the first {cohorts} ({sizes} candidates) {verb}"
    return f"hurdle {hurdle.kind}, cohort {design.cohort}"
