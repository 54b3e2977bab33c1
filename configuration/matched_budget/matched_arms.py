"""Twins: each arm once more at the baseline's budget, one size of it changed as little as that takes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from configuration.arm import BASELINE, Arm
from configuration.arms import ArmTable, Impossible
from configuration.matched_budget.adjustable_sizes import dimension, nearest
from configuration.matched_budget.match import Match
from foundation.errors import MachineError, UserError, Violation
from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, apply, difference

SUFFIX = " (matched)"
Spending = Callable[[Candidate], float]
THROUGHPUT = "throughput"
"""Under this name the validation context gives what reads measurements."""
Throughput = Callable[[Path], Mapping[str, float]]
"""From a results folder: seconds per operation by the canonical text of the candidate. Raises a UserError."""


def nothing_measured(folder: Path) -> Mapping[str, float]:
    """Refuse: this declaration was read without access to measurements. Raises MachineError."""
    raise MachineError(f"{folder}: measurements are not read here")


class NoMatch(Exception):
    """No size in reach gives an arm the baseline's budget; the message says how near one comes."""


def add_matched_arms(roster: ArmTable, match: Match, tokens: int, throughput: Throughput) -> list[Violation]:
    """Put each arm's copy behind it. An arm that has the baseline's budget is its own copy.

    `throughput` reads what pretraining took in the results folder that `match` names.
    """
    if match.budget == "parameters" and match.by == "tokens":
        return [Violation(("match", "by"), "tokens change no parameters. Did you mean feed_forward_width?")]
    try:
        rates = _rates(match, throughput)
    except UserError as refusal:
        return [Violation(("match", "measured_in"), line) for line in refusal.lines]
    except NoMatch as unknown:
        return [Violation(("match", "measured_in"), str(unknown))]
    return list(_entered(roster, match, tokens, rates))


def _entered(roster: ArmTable, match: Match, tokens: int, rates: Mapping[str, float] | None) -> Iterator[Violation]:
    baseline, *raw = roster.arms
    copies: dict[str, Arm] = {}
    shares: dict[str, float] = {}
    for arm in raw:
        try:
            copy = _allowed(_matched(arm, baseline, match, tokens, rates), roster)
        except NoMatch as unmatched:
            if roster.rules.skip:
                roster.impossible.append(Impossible(arm.name + SUFFIX, (str(unmatched),)))
            else:
                yield Violation(("match",), f"{arm.name + SUFFIX}: {unmatched}")
        else:
            copies[arm.name] = copy
            target = _spending(baseline, baseline, match, tokens, rates)(baseline.candidate)
            shares[arm.name] = _spending(arm, baseline, match, tokens, rates)(copy.candidate) / target
    _place(roster, copies, shares)


def _allowed(copy: Arm, roster: ArmTable) -> Arm:
    reason = roster.reason(copy.candidate)
    if reason is not None:
        raise NoMatch(reason)
    return copy


def _place(roster: ArmTable, copies: Mapping[str, Arm], shares: Mapping[str, float]) -> None:
    """Put every copy behind its arm. A copy that is another arm, or another's copy, is there once and serves both."""
    baseline, *raw = roster.arms
    roster.arms[:] = [baseline]
    known = {arm.identity: arm.name for arm in raw}
    for arm in raw:
        copy = copies.get(arm.name)
        own = copy is not None and copy.identity == arm.identity
        other = None if copy is None or own else known.get(copy.identity)
        matched_by = next((name for name, each in copies.items() if each.identity == arm.identity), None)
        name = None if copy is None else arm.name if own else other or copy.name
        roster.arms.append(replace(arm, matches=matched_by, matched_arm=name, matched_spend=shares.get(arm.name)))
        if other is not None:
            roster.aliases[arm.name + SUFFIX] = other
        elif copy is not None and not own:
            roster.arms.append(copy)
            known[copy.identity] = copy.name


def _matched(arm: Arm, baseline: Arm, match: Match, tokens: int, rates: Mapping[str, float] | None) -> Arm:
    """Return the arm at the baseline's budget. Raises NoMatch."""
    target = _spending(baseline, baseline, match, tokens, rates)(baseline.candidate)
    spending = _spending(arm, baseline, match, tokens, rates)
    if abs(spending(arm.candidate) / target - 1) <= match.tolerance:
        return arm
    free = dimension(match.by, arm.candidate, tokens)
    steps = nearest(lambda count: spending(free.resized(count)), target, free.discontinuities)
    candidate = free.resized(steps)
    reached = spending(candidate) / target - 1
    if abs(reached) > match.tolerance:
        wanted = f"{target:,.{0 if target > 1000 else 1}f}"
        raise NoMatch(
            f"{match.by} {steps * free.step} comes nearest, {abs(reached):.1%} {'above' if reached > 0 else 'below'} "
            f"the baseline's {match.budget} {wanted}; the tolerance is {match.tolerance:.1%}. "
            "Did you mean another size in match.by?"
        )
    if candidate == baseline.candidate:
        raise NoMatch(f"it would be the baseline: {match.by} is all that {arm.name} changes")
    try:
        apply(candidate, {})
    except InvalidOverride as impossible:
        raise NoMatch(f"{match.by} {steps * free.step} is impossible: {impossible}") from None
    changes = difference(baseline.candidate, candidate)
    return Arm(arm.name + SUFFIX, candidate, changes, {}, arm.name)


def _spending(arm: Arm, baseline: Arm, match: Match, tokens: int, rates: Mapping[str, float] | None) -> Spending:
    """Return what a candidate spends of the budget; time at the pace at which the arm was measured."""
    if match.budget == "parameters":
        return lambda candidate: candidate.architecture.parameters
    pace = 1.0
    if rates is not None:
        if arm.identity not in rates:
            name = BASELINE if arm is baseline else arm.name
            raise NoMatch(f"{name} was never measured in {match.measured_in}; run it there without match first")
        pace = rates[arm.identity]
    return lambda candidate: pace * candidate.train_flops(tokens, baseline.candidate.architecture)


def _rates(match: Match, throughput: Throughput) -> Mapping[str, float] | None:
    if match.budget != "seconds":
        return None
    if match.measured_in is None:
        raise NoMatch("seconds are unknown before they were measured; name the results folder of a run without match")
    return throughput(Path(match.measured_in))
