"""What the tests of tuning share: small tuned tables, what their ledgers came to, and losses with a best rate."""

import json
import random
from collections.abc import Callable, Mapping
from math import log
from pathlib import Path
from typing import Any

from runners.stages.pretrain import PretrainStage
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.simulated_training import TOKENS_PER_STEP, Track, chance_of, curve, experiment, found

RATE = "recipe.peak_learning_rate"
SHARED_RATE = 5e-4
TUNE: dict[str, Any] = {"vary": {RATE: [5e-4, 1e-3, 3e-3]}, "trials": 3, "seeds": [101, 102], "tokens": 1280}


def tuned(folder: Path, **parts: Any) -> Experiment:
    """Return a table of three arms at one seed, tuned, without fine-tuning."""
    usual = {"pretraining": {"tokens": 2560, "seeds": [1]}, "fine_tuning": {}, "tune": TUNE}
    return experiment(folder, **{**usual, **parts})


def came_to(snapshot: Snapshot) -> str:
    """Return everything that a tuned table is made from, without what the order of ends may change."""
    tuning = snapshot.tuning
    assert tuning is not None
    tried = {one.trial.name: (one.status, [record.key for record in one.records]) for one in tuning.histories}
    choices = [choice.model_dump_json() for choice in tuning.choices]
    return json.dumps([found(snapshot), tried, choices, tuning.tried.model_dump(mode="json")], sort_keys=True)


def own_names(snapshot: Snapshot) -> dict[str, str]:
    """Return what every arm is called at its own recipe."""
    assert snapshot.tuning is not None
    return {choice.arm: choice.own for choice in snapshot.tuning.choices}


def best_at(rates: Mapping[str, float], noise: float = 0.0) -> Callable[[StageTask], Outcome | Failure]:
    """Return a trainer whose losses grow with the distance from each kind of candidate's best learning rate.

    A candidate is known by a text in its architecture; the empty text stands for all others.
    """

    def answer(work: StageTask) -> Outcome | Failure:
        told = work.stage.declaration
        if not isinstance(told, PretrainStage):
            return curve(work)
        shape = told.candidate.architecture.model_dump_json()
        best = next(rate for text, rate in rates.items() if text in shape)
        loss = 6 + log(told.candidate.recipe.peak_learning_rate / best) ** 2
        loss += noise * chance_of(shape, told.seed, told.candidate.recipe.peak_learning_rate)
        tokens = told.to_step * TOKENS_PER_STEP
        result: dict[str, Any] = {"tokens": tokens, "held_out_loss": loss, "held_out_curve": [[tokens, loss]]}
        return Outcome(Status.FINISHED, {**result, "train_curve": [[tokens, loss]]}, 1.0)

    return answer


def ran(folder: Path, table: Experiment, seed: int = 1, **how: Any) -> Snapshot:
    """Run a table to its end, the stages ending in an order of their own."""
    return Track(table, folder, **how, order=random.Random(seed)).run()
