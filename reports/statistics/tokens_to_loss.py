"""Tokens and FLOPs at which arms first reach a held-out loss, as ratios to the baseline.

Only recorded evaluations count; between two of them the loss is linear in the logarithm of the tokens. Ratios are of
geometric means over the seeds that left the plateau of the loss (`statistics/learning.py`): the experiment's test on
logarithms. An arm of which one of these seeds does not reach the loss has no ratio, since its slowest are missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from statistics import fmean
from typing import NamedTuple

from reports.statistics.arm_costs import costs_of
from reports.statistics.held_out_losses import curve_of_trial, ended_trials, is_pretrained
from reports.statistics.learning import stayed_of
from reports.statistics.results import Results
from steeplechase.analysis.difference import ALPHA, Difference, SeedValues
from steeplechase.analysis.effects import difference_of, estimate
from steeplechase.analysis.paired import holm
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.stage_results import finite


class Crossing(NamedTuple):
    """The first time that a loss is at most a level."""

    tokens: float
    """Interpolated between the evaluations around it."""
    after: int
    """Tokens of the last evaluation before, whose loss is above the level."""
    until: int
    """Tokens of the first evaluation at or below the level."""


class Censored(NamedTuple):
    """A curve whose crossing lies outside its evaluations."""

    before: int | None
    """Tokens of the first evaluation if it is at or below the level already; None where no evaluation is."""


class Ratio(NamedTuple):
    """A ratio to the baseline with its interval; no bounds where no spread is known."""

    n: int
    """Seeds of the arm that has fewer; paired, the seeds that both have."""
    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, difference: Difference) -> "Ratio | None":
        """Return a difference of logarithms as a ratio; None where there is none."""
        if difference.delta is None:
            return None
        low, high = (None if bound is None else exp(bound) for bound in (difference.low, difference.high))
        return cls(difference.n, exp(difference.delta), low, high)


@dataclass(frozen=True)
class ArmToLoss:
    """An arm's seeds on the way to the loss. Trials that finished, were stopped or diverged count, no others."""

    arm: str
    ends: Mapping[int, Crossing | Censored]
    """By seed, where its curve reaches the loss."""
    learned: frozenset[int]
    """The seeds of them that left the plateau."""
    flops_per_token: float
    """The mean over the whole training."""
    tokens_ratio: Ratio | None = None
    flops_ratio: Ratio | None = None
    p: float | None = None
    """Of equal geometric means of the tokens."""
    p_adjusted: float | None = None
    """After Holm's correction over arms."""

    @cached_property
    def crossings(self) -> dict[int, Crossing]:
        """The crossings by seed; without seeds that had reached the loss before their first evaluation."""
        return {seed: end for seed, end in self.ends.items() if isinstance(end, Crossing)}

    @property
    def before_first(self) -> int:
        """How many seeds had reached the loss at their first evaluation."""
        return sum(isinstance(end, Censored) and end.before is not None for end in self.ends.values())

    @property
    def reached(self) -> int:
        """How many seeds reach the loss."""
        return len(self.crossings) + self.before_first

    @property
    def comparable(self) -> bool:
        """Whether it is known of every seed that learned at how many tokens it reaches the loss."""
        return bool(self.learned) and self.learned <= self.crossings.keys()

    @cached_property
    def tokens(self) -> SeedValues:
        """Tokens of the seeds that learned, where they can be compared."""
        found = self.crossings if self.comparable else {}
        return {seed: end.tokens for seed, end in found.items() if seed in self.learned}

    @property
    def flops(self) -> SeedValues:
        """FLOPs of the same seeds."""
        return {seed: tokens * self.flops_per_token for seed, tokens in self.tokens.items()}


@dataclass(frozen=True)
class TokensToLoss:
    """All arms on the way to one loss, the baseline first."""

    loss: float
    declared: bool
    arms: tuple[ArmToLoss, ...]

    @property
    def widest(self) -> float:
        """The largest factor between the two evaluations around a crossing; 1 without one."""
        ends = (end for arm in self.arms for end in arm.crossings.values())
        return max((end.until / end.after for end in ends), default=1.0)


def target_loss_of(results: Results) -> float | None:
    """Return the declared loss, or the lowest that every pretrained seed of the baseline which learned reaches."""
    if results.experiment.target_loss is not None:
        return results.experiment.target_loss
    stayed = stayed_of(BASELINE, results.learning)
    pretrained = (trial for trial in ended_trials(results, BASELINE) if is_pretrained(results, trial))
    curves = (curve_of_trial(trial) for trial in pretrained if trial.trial.seed not in stayed)
    return max((min(curve.values()) for curve in curves if curve), default=None)


def tokens_to_loss_of(results: Results) -> TokensToLoss | None:
    """Return how arms reach the loss; None without one, in a search, and where the loss is no headline metric."""
    is_headline = any(metric.name == HELD_OUT_LOSS for metric in results.headlines)
    loss = target_loss_of(results) if is_headline and not results.is_search else None
    return None if loss is None else arms_at(results, loss)


def arms_at(results: Results, loss: float) -> TokensToLoss | None:
    """Return how arms reach any loss, with ratios and tests; None where no seed crosses one that is not declared."""
    declared = results.experiment.target_loss is not None
    arms = [_arm_to_loss(results, arm, loss) for arm in results.arms if arm.candidate.recipe.pruning is None]
    baseline = next((arm for arm in arms if arm.arm == BASELINE), None)
    if baseline is None or not (declared or any(arm.crossings for arm in arms)):
        return None
    found = [arm if arm is baseline else _compared(results, arm, baseline) for arm in arms if arm.ends]
    adjusted = holm([arm.p for arm in found])
    tested = tuple(replace(arm, p_adjusted=p) for arm, p in zip(found, adjusted, strict=True))
    return TokensToLoss(loss, declared, tested)


def _arm_to_loss(results: Results, arm: ArmRow, loss: float) -> ArmToLoss:
    trials = {trial.trial.seed: trial for trial in ended_trials(results, arm.name)}
    curves = {seed: curve_of_trial(trial) for seed, trial in trials.items()}
    whole = arm.candidate.recipe.own_tokens(results.experiment.pretraining.tokens)
    return ArmToLoss(
        arm.name,
        {seed: crossing(curve, loss) for seed, curve in curves.items()},
        frozenset(trials) - stayed_of(arm.name, results.learning),
        costs_of(results, arm).train_flops / whole,
    )


def _compared(results: Results, arm: ArmToLoss, baseline: ArmToLoss) -> ArmToLoss:
    test, confidence = results.test, results.confidence(arm.arm)
    pairs = ((arm.tokens, baseline.tokens), (arm.flops, baseline.flops))
    ratios = (Ratio.of(difference_of(_logs(own), _logs(other), confidence, test)) for own, other in pairs)
    tokens, flops = ratios
    p = finite(estimate(_logs(arm.tokens), _logs(baseline.tokens), test).p().item()) if tokens else None
    spent = None if p is None else min(1.0, p * ALPHA / (1 - confidence))
    return replace(arm, tokens_ratio=tokens, flops_ratio=flops, p=spent)


def _logs(values: SeedValues) -> SeedValues:
    return {seed: log(value) for seed, value in values.items()}


def geometric_mean(values: SeedValues) -> float | None:
    """Return the geometric mean over seeds; None without one."""
    return exp(fmean(map(log, values.values()))) if values else None


def highest_first_loss(results: Results) -> float | None:
    """Return the lowest of the first evaluations of the baseline's seeds; above it, not all are seen to cross."""
    curves = (curve_of_trial(trial) for trial in ended_trials(results, BASELINE))
    return min((curve[min(curve)] for curve in curves if curve), default=None)


def crossing(curve: Mapping[int, float], level: float) -> Crossing | Censored:
    """Return where a curve, loss by tokens, first reaches a level; losses are finite, tokens above 0."""
    points = sorted(curve.items())
    place = next((place for place, (_, loss) in enumerate(points) if loss <= level), None)
    if not place:
        return Censored(None if place is None else points[0][0])
    (after, above), (until, below) = points[place - 1], points[place]
    share = (above - level) / (above - below)
    return Crossing(exp(log(after) + share * (log(until) - log(after))), after, until)
