"""Hurdle decisions and the audit, from the trials of a run. Pure."""

from collections.abc import Mapping

from runners.scheduling.trial import Trial
from steeplechase.configuration.hurdles.population import HurdleDecision
from steeplechase.configuration.pretraining import Pretraining
from steeplechase.ledger.records import Decision

AUDIT = "audit"
"""Fact in the ledger: stopped trials that are trained to the end as an untruncated control sample."""


def as_row(trial: Trial, decision: HurdleDecision, probed: bool) -> Decision:
    """Return a hurdle's decision on a trial as a row of the ledger, whose scores are larger for better trials."""
    value, threshold = _signed(decision.value, probed), _signed(decision.threshold, probed)
    return Decision(0, trial.name, len(trial.cleared), decision.cleared, value, threshold, decision.references)


def hurdle_decision_of(row: Decision, probed: bool) -> HurdleDecision:
    """Return a ledger's decision as a hurdle decision, whose values are smaller for better trials."""
    return HurdleDecision(row.cleared, _signed(row.value, probed), _signed(row.threshold, probed), row.compared_with)


def _signed(value: float | None, probed: bool) -> float | None:
    return None if value is None else (-1.0 if probed else 1.0) * value


def audited(settings: Pretraining, trials: Mapping[str, Trial]) -> list[str] | None:
    """Return the stopped trials to audit, None without an audit; to be called when all trials have ended."""
    if settings.audit is None:
        return None
    return [*settings.audit.chosen(name for name, trial in trials.items() if trial.stopped)]
