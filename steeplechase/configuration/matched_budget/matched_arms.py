"""Budget-matched copies of arms: one size of each is adjusted until the budget is the baseline's."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, apply, difference
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.arms import ArmTable, Impossible
from steeplechase.configuration.matched_budget.adjustable_sizes import dimension, nearest
from steeplechase.configuration.matched_budget.match import Match
from steeplechase.foundation.errors import Violation

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
    size = dimension(match.by, arm.candidate, tokens)
    steps = nearest(lambda count: budget(size.resized(count)), target, size.discontinuities)
    candidate = size.resized(steps)
    excess = budget(candidate) / target - 1
    if abs(excess) > match.tolerance:
        target_text = f"{target:,.{0 if target > 1000 else 1}f}"
        raise NoMatch(
            f"{match.by} {steps * size.step} is nearest, {abs(excess):.1%} {'above' if excess > 0 else 'below'} "
            f"the baseline's {match.budget} {target_text}; the tolerance is {match.tolerance:.1%}. "
            "Did you mean another size in match.by?"
        )
    if candidate == baseline.candidate:
        raise NoMatch(f"the copy would equal the baseline: {match.by} is the only field that {arm.name} changes")
    try:
        apply(candidate, {})
    except InvalidOverride as error:
        raise NoMatch(f"{match.by} {steps * size.step} is impossible: {error}") from None
    changes = difference(baseline.candidate, candidate)
    return Arm(arm.name + SUFFIX, candidate, changes, {}, arm.name)


def _budget(baseline: Arm, match: Match, tokens: int) -> Budget:
    """Return the function from a candidate to its budget."""
    if match.budget == "parameters":
        return lambda candidate: candidate.architecture.parameters
    return lambda candidate: candidate.train_flops(tokens, baseline.candidate.architecture)
