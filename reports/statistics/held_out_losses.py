"""Held-out losses of trials: every recorded evaluation, and those at the rungs of a search.

A candidate of a search is compared at the last rung that it shares with the baseline.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from reports.statistics.results import Results
from steeplechase.analysis.difference import Difference
from steeplechase.analysis.effects import paired
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.ledger.metrics import final_record
from steeplechase.ledger.records import TrialStatus, curve_of, with_results
from steeplechase.ledger.stage_results import PretrainResult, finite
from steeplechase.ledger.trial_history import TrialHistory

Losses = Mapping[int, Mapping[int, float]]
"""Held-out loss by rung in tokens, then by pretraining seed."""


@dataclass(frozen=True)
class Reach:
    """The last rung at which a candidate can be ranked, with its losses at the seeds used for the rank."""

    tokens: int
    losses: Mapping[int, float]
    excess: float
    """Mean over seeds of the loss minus the reference loss at the same seed."""


def losses_of(results: Results, arm: str) -> Losses:
    """Return held-out loss by rung, then seed; none of seeds that diverged in pretraining, or of other losses."""
    if arm in results.once(with_other_loss):
        return {}
    losses: dict[int, dict[int, float]] = {}
    for history in results.trials[arm]:
        found = () if _diverged_in_pretraining(results, history) else history.finished(PRETRAIN)
        for _, result in with_results(found, PretrainResult):
            tokens, loss = finite(result.tokens), finite(result.held_out_loss)
            if tokens is not None and loss is not None:
                losses.setdefault(int(tokens), {})[history.trial.seed] = loss
    return losses


def with_other_loss(results: Results) -> frozenset[str]:
    """Return the arms whose held-out loss is compared with none."""
    return results.snapshot.arms_with_other_loss


def reach_of(losses: Mapping[str, Losses], arm: str) -> Reach | None:
    """Return the last rung at which the arm has a loss at a seed with a reference loss; None without one."""
    for tokens in sorted(losses[arm], reverse=True):
        references = _references(losses, tokens)
        compared = {seed: loss for seed, loss in losses[arm][tokens].items() if seed in references}
        if compared:
            return Reach(tokens, compared, fmean(loss - references[seed] for seed, loss in compared.items()))
    return None


def _references(losses: Mapping[str, Losses], tokens: int) -> Mapping[int, float]:
    """Return the reference loss at a rung by seed: the baseline's, else the mean of all arms at the rung."""
    baseline = losses.get(BASELINE, {})
    if tokens in baseline:
        return baseline[tokens]
    baseline_seeds = {seed for at_mark in baseline.values() for seed in at_mark}
    losses_by_seed: dict[int, list[float]] = {}
    for by_mark in losses.values():
        for seed, loss in by_mark.get(tokens, {}).items():
            if seed in baseline_seeds or not baseline_seeds:
                losses_by_seed.setdefault(seed, []).append(loss)
    return {seed: fmean(values) for seed, values in losses_by_seed.items()}


def to_baseline(losses: Mapping[str, Losses], arm: str, tokens: int) -> Difference:
    """Return the difference of an arm to the baseline at a rung, paired by seed."""
    return paired(losses[arm].get(tokens, {}), losses.get(BASELINE, {}).get(tokens, {}))


def against_baseline(results: Results, arm: str) -> tuple[int, Difference] | None:
    """Return the last rung at which an arm and the baseline share a seed, with the paired difference there."""
    losses = {name: losses_of(results, name) for name in (arm, BASELINE)}
    differences = ((tokens, to_baseline(losses, arm, tokens)) for tokens in sorted(losses[arm], reverse=True))
    return next(((tokens, difference) for tokens, difference in differences if difference.n), None)


def between(results: Results, arm: str, other: str, tokens: int) -> Difference:
    """Return the paired difference of two candidates at a rung, over the seeds that both have there."""
    losses, other_losses = (losses_of(results, name).get(tokens, {}) for name in (arm, other))
    return paired(losses, other_losses)


HeldOutCurve = Mapping[int, float]
"""Held-out loss in nats by tokens seen."""
ENDED = (TrialStatus.FINISHED, TrialStatus.STOPPED, TrialStatus.DIVERGED)


def curve_of_trial(trial: TrialHistory) -> HeldOutCurve:
    """Return the evaluations of a trial's finished stages of pretraining."""
    points: dict[int, float] = {}
    for record in trial.finished(PRETRAIN):
        points |= curve_of(record)
    return points


def furthest_curves(results: Results, arm: str) -> tuple[HeldOutCurve, ...]:
    """Return the curves of an arm's seeds with the most tokens seen; none if its loss is not comparable.

    Seeds that diverged in pretraining have none.
    """
    if arm in results.once(with_other_loss):
        return ()
    trials = results.trials[arm]
    curves = [curve_of_trial(trial) for trial in trials if not _diverged_in_pretraining(results, trial)]
    furthest = max((max(points) for points in curves if points), default=0)
    return tuple(points for points in curves if points and max(points) == furthest)


def is_pretrained(results: Results, trial: TrialHistory) -> bool:
    """Return whether a trial has spent its budget of pretraining; its fine-tuning may have diverged."""
    return final_record(trial, results.snapshot.labels) is not None


def _diverged_in_pretraining(results: Results, trial: TrialHistory) -> bool:
    return trial.status is TrialStatus.DIVERGED and not is_pretrained(results, trial)


def ended_trials(results: Results, arm: str) -> tuple[TrialHistory, ...]:
    """Return an arm's trials that finished, were stopped or diverged; none if its loss is not comparable."""
    if arm in results.once(with_other_loss):
        return ()
    return tuple(trial for trial in results.trials.get(arm, ()) if trial.status in ENDED)
