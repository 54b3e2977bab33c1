"""Budget-matched arms: `match:`, the budget and the size that is adjusted, and a copy of every arm at it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Annotated, Literal

from pydantic import Field

from search_space.candidate import Candidate
from search_space.layer_lists import is_read
from search_space.overrides import InvalidOverride, apply, difference
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.arms import ArmTable, Impossible
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Schema

Tolerance = Annotated[float, Field(gt=0, lt=1)]


class Match(Schema):
    """`match: { budget: parameters, by: feed_forward_width }`: each arm gets a copy with equal parameters."""

    budget: Literal["parameters", "train_flops"] = Field(examples=["parameters"])
    """`parameters`: of the encoder with embeddings. `train_flops`: of pretraining, with generator and heads."""
    by: Literal["feed_forward_width", "width", "depth", "tokens"] = Field(examples=["feed_forward_width"])
    """The size that is adjusted; tokens change in whole updates."""
    tolerance: Tolerance = 0.01
    """The largest relative difference between a copy's budget and the baseline's."""


STEPS_AT_MOST = 2**16


@dataclass(frozen=True)
class Dimension:
    """An adjustable size of one candidate: its path, its values by steps, and the resized candidate."""

    path: str
    size: Callable[[int], int]
    """From a number of steps to the value that a message names."""
    resized: Callable[[int], Candidate]
    """From a number of steps, at least 1, to the candidate; its budget increases with the steps."""
    discontinuities: tuple[int, ...] = ()
    """Numbers of steps at which the budget is not monotonic."""


def dimension(by: str, candidate: Candidate, tokens: int) -> Dimension:
    """Return the adjustable size of a candidate; `tokens` is the training budget at token share 1."""
    architecture, recipe = candidate.architecture, candidate.recipe
    if by == "tokens":

        def with_updates(steps: int) -> Candidate:
            share = recipe.tokens_after(steps) / tokens
            return candidate.model_copy(update={"recipe": recipe.model_copy(update={"token_share": share})})

        return Dimension("recipe.token_share", recipe.tokens_after, with_updates)
    groups = architecture.feed_forward_groups
    sublayers = (sublayer for program in architecture.programs for sublayer in program.sublayers())
    own = (dict(sublayer.settings).get("heads") for sublayer in sublayers)
    heads = [architecture.heads, *(count for count in own if isinstance(count, int))]  # each divides the width
    step = {"feed_forward_width": groups, "width": lcm(*heads, groups), "depth": 1}[by]

    def resized(steps: int) -> Candidate:
        return candidate.model_copy(update={"architecture": architecture.model_copy(update={by: steps * step})})

    quotient, remainder = divmod(architecture.embedding_width, step)
    no_projection = by == "width" and remainder == 0  # width = embedding width needs no projection between them
    return Dimension(by, lambda steps: steps * step, resized, (quotient,) if no_projection else ())


def nearest(budget: Callable[[int], float], target: float, discontinuities: tuple[int, ...] = ()) -> int:
    """Return the number of steps with the budget nearest to the target, by bisection.

    `budget` increases with the steps, except at `discontinuities`.
    """

    def monotonic(steps: int) -> float:
        """Return the budget, interpolated between the neighbours at a discontinuity."""
        return (
            (budget(steps - 1) + budget(steps + 1)) / 2 if steps in discontinuities and steps > 1 else budget(steps)
        )

    high = 1
    while monotonic(high) < target and high < STEPS_AT_MOST:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if monotonic(middle) < target else (low, middle)
    candidates = {low - 1, low, high, high + 1, *discontinuities}
    return min((steps for steps in sorted(candidates) if steps >= 1), key=lambda steps: abs(budget(steps) - target))


SUFFIX = " (matched)"
Budget = Callable[[Candidate], float]


class NoMatch(Exception):
    """No possible size gives an arm the baseline's budget; the message has the nearest size."""


def add_matched_arms(arm_table: ArmTable, match: Match, tokens: int) -> list[Violation]:
    """Insert each arm's copy behind it. An arm with the baseline's budget is its own copy."""
    if match.budget == "parameters" and match.by == "tokens":
        return [Violation(("match", "by"), "tokens do not change parameters. Did you mean feed_forward_width?")]
    return list(_add_copies(arm_table, match, tokens))


def _add_copies(arm_table: ArmTable, match: Match, tokens: int) -> Iterator[Violation]:
    baseline, *raw = arm_table.arms
    budget = _budget(baseline, match, tokens)
    copies: dict[str, Arm] = {}
    shares: dict[str, float] = {}
    for arm in raw:
        try:
            copy = _allowed(_matched(arm, baseline, match, tokens), arm_table)
        except NoMatch as unmatched:
            if arm_table.rules.skip:
                arm_table.impossible.append(Impossible(arm.name + SUFFIX, (str(unmatched),)))
            else:
                yield Violation(("match",), f"{arm.name + SUFFIX}: {unmatched}")
        else:
            copies[arm.name] = copy
            shares[arm.name] = budget(copy.candidate) / budget(baseline.candidate)
    _insert(arm_table, copies, shares)


def _allowed(copy: Arm, arm_table: ArmTable) -> Arm:
    reason = arm_table.reason(copy.candidate)
    if reason is not None:
        raise NoMatch(reason)
    return copy


def _insert(arm_table: ArmTable, copies: Mapping[str, Arm], shares: Mapping[str, float]) -> None:
    """Insert every copy behind its arm; a copy that equals another arm or copy is not duplicated."""
    baseline, *raw = arm_table.arms
    arm_table.arms[:] = [baseline]
    known = {arm.identity: arm.name for arm in raw}
    for arm in raw:
        copy = copies.get(arm.name)
        is_own_copy = copy is not None and copy.identity == arm.identity
        existing = None if copy is None or is_own_copy else known.get(copy.identity)
        matches = next((name for name, other in copies.items() if other.identity == arm.identity), None)
        name = None if copy is None else arm.name if is_own_copy else existing or copy.name
        arm_table.arms.append(replace(arm, matches=matches, matched_arm=name, matched_spend=shares.get(arm.name)))
        if existing is not None:
            arm_table.aliases[arm.name + SUFFIX] = existing
        elif copy is not None and not is_own_copy:
            arm_table.arms.append(copy)
            known[copy.identity] = copy.name


def _matched(arm: Arm, baseline: Arm, match: Match, tokens: int) -> Arm:
    """Return the arm at the baseline's budget. Raises NoMatch."""
    budget = _budget(baseline, match, tokens)
    target = budget(baseline.candidate)
    if abs(budget(arm.candidate) / target - 1) <= match.tolerance:
        return arm
    if match.by == "depth" and arm.candidate.architecture.layers is not None:
        raise NoMatch("layers sets the number of blocks. Did you mean another size in match.by?")
    if match.by == "feed_forward_width" and not is_read(match.by, arm.candidate.architecture):
        raise NoMatch("layers sets the width of every feed-forward network. Did you mean another size in match.by?")
    size = dimension(match.by, arm.candidate, tokens)
    steps = nearest(lambda count: budget(size.resized(count)), target, size.discontinuities)
    candidate = size.resized(steps)
    excess = budget(candidate) / target - 1
    if abs(excess) > match.tolerance:
        target_text = f"{target:,.{0 if target > 1000 else 1}f}"
        raise NoMatch(
            f"{match.by} {size.size(steps)} is nearest, {abs(excess):.1%} {'above' if excess > 0 else 'below'} "
            f"the baseline's {match.budget} {target_text}; the tolerance is {match.tolerance:.1%}. "
            "Did you mean another size in match.by?"
        )
    if candidate == baseline.candidate:
        raise NoMatch(f"the copy would equal the baseline: {match.by} is the only field that {arm.name} changes")
    try:
        apply(candidate, {})
    except InvalidOverride as error:
        raise NoMatch(f"{match.by} {size.size(steps)} is impossible: {error}") from None
    changes = difference(baseline.candidate, candidate)
    return Arm(arm.name + SUFFIX, candidate, changes, {}, arm.name)


def _budget(baseline: Arm, match: Match, tokens: int) -> Budget:
    """Return the function from a candidate to its budget."""
    if match.budget == "parameters":
        return lambda candidate: candidate.architecture.parameters
    return lambda candidate: candidate.train_flops(tokens, baseline.candidate.architecture)
