"""The trace of a search from its ledger: every training of a candidate, in the order in which they ended."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from statistics import fmean
from typing import Protocol

from steeplechase.analysis.search_trace import SearchTrace, Training
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.stage_label import PRETRAIN, StageLabel
from steeplechase.ledger.records import ArmRow, Record, Status, TrialRow, final_loss_of
from steeplechase.ledger.trial_history import TrialHistory


class SearchRows(Protocol):
    """The arms and the trials of a search: a snapshot, or a search that was replayed."""

    @property
    def arms(self) -> Sequence[ArmRow]:
        """In the order in which they were declared."""

    @property
    def histories(self) -> Sequence[TrialHistory]:
        """In the order in which the trials were declared."""


def recorded_trace(snapshot: SearchRows, experiment: Experiment, duplicates: int | None = None) -> SearchTrace:
    """Return the trace of a search; the baseline and what an audit trained further are not part of it.

    A candidate's loss is the mean over the seeds with which every candidate starts, known when the last of them has
    it; a training at a further seed costs as much, and is no new observation. `duplicates` are those of a policy; a
    search by cohorts has its repeated proposals in the ledger.
    """
    assert experiment.search is not None
    trials = {history.trial.name: history for history in snapshot.histories if history.trial.arm != BASELINE}
    if experiment.search.policy is None:
        duplicates = sum(history.trial.cohort is not None for history in trials.values())
    arms = {row.name: row for row in snapshot.arms}
    losses = _Losses(experiment)
    trainings: list[Training] = []
    for record in sorted((each for h in trials.values() for each in h.records), key=lambda each: each.sequence):
        if record.stage == PRETRAIN and record.status is not Status.FAILED and record.trial is not None:
            trial = trials[record.trial].trial
            spent = trainings[-1].spent if trainings else 0.0
            trainings.append(losses.training(record, trial, arms[trial.arm], spent))
    for history in trials.values():
        for record in history.audit:
            losses.add(record, history.trial)
    trace = SearchTrace(experiment.search.seed, tuple(trainings), None, duplicates)
    return trace.choosing({arms[arm].identity: loss for arm, loss in losses.finals.items()})


class _Losses:
    """Losses of candidates at their tokens, as far as their records have been read."""

    def __init__(self, experiment: Experiment) -> None:
        self._seeds, self._tokens = first_seeds(experiment.pretraining.seeds), experiment.pretraining.tokens
        self._found: dict[tuple[str, int], dict[int, float]] = {}
        """Loss by seed, by candidate and tokens."""
        self._reached: dict[str, int] = {}
        """Tokens of each trial."""

    def training(self, record: Record, trial: TrialRow, arm: ArmRow, spent: float) -> Training:
        """Return a record as a training, after which the search has spent its share of a candidate's training."""
        before = self._reached.get(trial.name, 0)
        tokens = self.add(record, trial)
        mean = self._mean(arm.name, tokens)
        return Training(
            candidate=arm.identity,
            spent=spent + (tokens - before) / self._tokens / len(self._seeds),
            loss=inf if mean is None else mean,
            finished=tokens == self._tokens and mean is not None and isfinite(mean),
            forward_flops=float(arm.forward_flops),
            seconds=record.total_seconds,
        )

    def add(self, record: Record, trial: TrialRow) -> int:
        """Add the loss of a record and return its tokens; a diverged one is infinite."""
        tokens = StageLabel.parse(record.label).tokens
        if record.stage != PRETRAIN or tokens is None:
            return 0
        loss = final_loss_of(record) if record.status is Status.FINISHED else None
        self._found.setdefault((trial.arm, tokens), {})[trial.seed] = inf if loss is None else loss
        self._reached[trial.name] = max(tokens, self._reached.get(trial.name, 0))
        return tokens

    @property
    def finals(self) -> Mapping[str, float]:
        """The losses after a full training by candidate, as far as they were measured."""
        means = {arm: self._mean(arm, tokens) for arm, tokens in self._found if tokens == self._tokens}
        return {arm: mean for arm, mean in means.items() if mean is not None}

    def _mean(self, arm: str, tokens: int) -> float | None:
        """Return the mean over the first seeds, None while one of them lacks the loss."""
        found = self._found[arm, tokens]
        return fmean(found[seed] for seed in self._seeds) if all(seed in found for seed in self._seeds) else None
