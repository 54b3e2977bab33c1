"""The judges: put the field before the hurdle when somebody waits, and write a verdict before it is acted on."""

from collections.abc import Iterator

from configuration.experiment import Experiment
from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population
from configuration.seeds import first_seeds
from configuration.stage_label import StageLabel
from ledger.database import Ledger
from ledger.records import Decision, Record, Status, curve_of, final_loss_of
from runners.scheduling.trial import Trial
from runners.scoring import primary_score

AUDIT = "audit"
"""The ledger's fact: who is trained to the end although a hurdle said no."""


class Judges:
    """One field per pretraining seed; a repeat of a candidate runs in the field of the first seed."""

    def __init__(self, experiment: Experiment, ledger: Ledger) -> None:
        self._settings, self._ledger = experiment.pretraining, ledger
        self._fields: dict[int, list[Trial]] = {seed: [] for seed in first_seeds(self._settings.seeds)}
        self._sign = -1.0 if self._settings.hurdle.probe else 1.0  # of a score the larger is the better

    def enter(self, trial: Trial) -> None:
        """Let a trial run in its field."""
        first = next(iter(self._fields))
        self._fields[trial.row.seed if trial.row.seed in self._fields else first].append(trial)

    def take(self, trial: Trial, record: Record) -> None:
        """Give the trial what a record brings: a value at a hurdle, points of its curve."""
        value = self._value(record) if record.label in trial.judged else None
        if record.label in trial.marks and not self._settings.hurdle.probe:
            trial.curve |= curve_of(record)
        if value is not None:
            trial.curve[_tokens(record.label)] = value
        trial.take(record, value)

    def _value(self, record: Record) -> float | None:
        """Return what a hurdle looks at, such that smaller is better; None where there is no number."""
        if record.status is not Status.FINISHED:
            return None
        found = primary_score(record) if self._settings.hurdle.probe else final_loss_of(record)
        return None if found is None else self._sign * found

    def settle(self) -> None:
        """Judge everyone who can be judged, until nobody new can.

        Verdicts that belong together are written together: half a cohort's would be taken anew after a kill.
        """
        for trials in self._fields.values():
            while any(trial.waits for trial in trials):
                field = Population(tuple(trial.view for trial in trials), self._settings.tokens)
                verdicts = self._settings.hurdle.decide(field)
                if not verdicts:
                    break
                with self._ledger.together():
                    for trial in trials:
                        if trial.row.name in verdicts:
                            self._ledger.add_decision(self._decision(trial, verdicts[trial.row.name]))
                for trial in trials:
                    if trial.row.name in verdicts:
                        trial.verdicts.append(verdicts[trial.row.name])

    def _decision(self, trial: Trial, verdict: HurdleDecision) -> Decision:
        value, bar = self._signed(verdict.value), self._signed(verdict.threshold)
        return Decision(0, trial.row.name, len(trial.verdicts), verdict.cleared, value, bar, verdict.cohort)

    def remember(self, trial: Trial, decision: Decision) -> None:
        """Take a verdict from the ledger."""
        value, bar = self._signed(decision.value), self._signed(decision.threshold)
        trial.verdicts.append(HurdleDecision(decision.cleared, value, bar, decision.cohort))

    def _signed(self, value: float | None) -> float | None:
        return None if value is None else self._sign * value

    def audit(self) -> Iterator[Trial]:
        """Choose whom to audit, once and in writing, and yield them; to be called when every cohort has ended."""
        if self._settings.audit is None:
            return
        every = {trial.row.name: trial for trials in self._fields.values() for trial in trials}
        if self._ledger.fact(AUDIT) is None:
            chosen = self._settings.audit.chosen(name for name, trial in every.items() if trial.stopped)
            self._ledger.set_fact(AUDIT, [*chosen])
        known = self._ledger.fact(AUDIT)
        assert isinstance(known, list)
        yield from (every[str(name)] for name in known)


def _tokens(label: str) -> int:
    tokens = StageLabel.parse(label).tokens
    assert tokens is not None
    return tokens
