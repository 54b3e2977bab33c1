"""Hurdle decisions and the audit, from the trials of a run. Pure."""

from collections.abc import Mapping, Sequence

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population
from configuration.pretraining import Pretraining
from ledger.records import Decision
from runners.scheduling.trial import Trial

AUDIT = "audit"
"""The ledger's fact: the trials that are trained to the end although a hurdle has stopped them."""


def hurdle_decisions(settings: Pretraining, trials: Sequence[Trial]) -> tuple[Decision, ...]:
    """Return the decisions that can be taken now on the trials of one replicate, in their order.

    Decisions that belong together are returned together: half a cohort's would be taken anew after a kill.
    """
    if not any(trial.waits for trial in trials):
        return ()
    population = Population(tuple(trial.view for trial in trials), settings.tokens)
    verdicts = settings.hurdle.decide(population)
    probed = settings.hurdle.probe is not None
    return tuple(_as_row(trial, verdicts[trial.name], probed) for trial in trials if trial.name in verdicts)


def _as_row(trial: Trial, verdict: HurdleDecision, probed: bool) -> Decision:
    value, threshold = _signed(verdict.value, probed), _signed(verdict.threshold, probed)
    return Decision(0, trial.name, len(trial.verdicts), verdict.cleared, value, threshold, verdict.reference_trials)


def verdict_of(row: Decision, probed: bool) -> HurdleDecision:
    """Return a decision as hurdles see it, its values such that smaller is better."""
    return HurdleDecision(row.cleared, _signed(row.value, probed), _signed(row.threshold, probed), row.cohort)


def _signed(value: float | None, probed: bool) -> float | None:
    return None if value is None else (-1.0 if probed else 1.0) * value


def audited(settings: Pretraining, trials: Mapping[str, Trial]) -> list[str] | None:
    """Return the stopped trials that are audited, None where no audit was asked for; to be called once all ended."""
    if settings.audit is None:
        return None
    return [*settings.audit.chosen(name for name, trial in trials.items() if trial.stopped)]
