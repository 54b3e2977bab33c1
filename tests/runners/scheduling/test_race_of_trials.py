"""A policy on real trials: the decisions of the replay, in any order of arrival those of the ledger."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from runners.replay.recorded_decisions import reproduce
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.hurdles.cohorts import TopFraction
from steeplechase.configuration.validation.search import policy_violations
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import Decision, Status
from tests.factories.simulated_training import Track, chance_of, curve, folder_of, opened, policy_search


def value(name: str, tokens: int) -> float:
    """Return the loss of a candidate by its name; infinite for one in five from the second rung on."""
    return (
        np.inf if chance_of(name) < 0.2 and tokens > 320 else chance_of(name) + chance_of(name, tokens) / tokens * 99
    )


def losses(work: StageTask) -> Outcome | Failure:
    """Return the loss of a candidate by the architecture, which is the same in `run` and in the pool."""
    told = work.stage.declaration
    outcome = curve(work)
    if work.trial is None or work.trial.startswith("baseline") or not hasattr(told, "to_step"):
        return outcome
    tokens = told.to_step * 64
    found = value(repr(told.candidate.architecture), tokens)
    if np.isinf(found):
        return Outcome(Status.DIVERGED, {"tokens": 64, "loss": "nan"}, 1.0)
    points = [[tokens, found]]
    result = {"tokens": tokens, "held_out_loss": found, "held_out_curve": points, "train_curve": points}
    return Outcome(Status.FINISHED, result, 1.0)


@dataclass
class Other:
    """The rows of a ledger with other decisions."""

    rows: Ledger
    other: tuple[Decision, ...]

    def decisions(self) -> tuple[Decision, ...]:
        return self.other

    def __getattr__(self, name: str) -> object:
        return getattr(self.rows, name)


@pytest.mark.parametrize("at_once", [2, 5])
def test_a_ledger_reproduces_its_decisions_in_the_order_of_arrival(tmp_path: Path, at_once: int) -> None:
    experiment = policy_search(tmp_path, at_once=at_once, trainings=2)
    found = set()
    for order in range(2):
        folder = folder_of(tmp_path, f"{order}")
        Track(experiment, folder, losses, workers=4, order=random.Random(order)).run()
        with opened(folder / "ledger.sqlite") as ledger:
            decisions = [(one.trial, one.level, one.cleared) for one in ledger.decisions()]
            reproduced = reproduce(experiment, ledger)
            assert reproduced.decisions == len(decisions)
            assert reproduced.candidates == sum(arm.final_of is None for arm in ledger.arms()) - 1
            cleared = next(one for one in ledger.decisions() if one.cleared)
            missing = tuple(one for one in ledger.decisions() if one != cleared)
            more = replace(cleared, references=cleared.compared_with + 1)
            for other in (missing, (*missing, replace(cleared, cleared=False)), (*missing, more)):
                with pytest.raises(ConflictError, match="does not follow from the recorded results"):
                    reproduce(experiment, Other(ledger, other))  # type: ignore[arg-type]
        found.add(tuple(decisions))
    assert len(found) > 1  # with several trainings at once the order of arrival matters


@pytest.mark.parametrize("policy", ["tournament", "progressive_hurdles"])
@pytest.mark.parametrize("at_once", [1, 3])
def test_a_failed_candidate_trains_again_in_the_next_run(tmp_path: Path, policy: str, at_once: int) -> None:
    experiment = policy_search(tmp_path, policy=policy, at_once=at_once, trainings=2)

    def failing(work: StageTask) -> Outcome | Failure:
        fails = (work.trial, work.label) == ("candidate-002/1", "pretrain@320")
        return Failure("ValueError: no", "trace") if fails else losses(work)

    Track(experiment, tmp_path, failing, workers=2).run()
    with opened(tmp_path / "ledger.sqlite") as ledger:
        assert Status.FAILED in {record.status for record in ledger.records()}
    Track(experiment, tmp_path, losses, workers=2).run()
    with opened(tmp_path / "ledger.sqlite") as ledger:
        ended = [record.status for record in ledger.records() if record.trial == "candidate-002/1"]
        assert ended[:2] == [Status.FAILED, Status.FINISHED]
        reproduce(experiment, ledger)


def test_a_ledger_of_another_policy_is_refused(tmp_path: Path) -> None:
    Track(policy_search(tmp_path, policy="tournament"), tmp_path).run()
    other = Track(policy_search(tmp_path, policy="progressive_hurdles"), tmp_path)
    with pytest.raises(ConflictError, match="not what the policy decides"):
        other.run()


def test_a_policy_needs_pauses_and_no_other_arms(tmp_path: Path) -> None:
    experiment = policy_search(tmp_path)
    assert [*policy_violations(experiment)] == []
    hurdle = TopFraction(rungs=(320, 640))
    pretraining = experiment.pretraining.model_copy(update={"hurdle": hurdle})
    found = [*policy_violations(experiment.model_copy(update={"pretraining": pretraining}))]
    assert [violation.path for violation in found] == [("pretraining", "hurdle", "kind")]
    assert "needs rungs at which trials pause" in found[0].message
