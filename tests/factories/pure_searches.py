"""A whole search on the pure scheduler over a ledger in memory: results are functions of the candidate."""

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runners.replay.simulated import SimulatedStages
from runners.scheduler import Step, next_step, proposed_step
from runners.scheduling.rows import Fact, Row, rows_of
from runners.scheduling.state import RunState
from runners.work_queue import StageTask
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import FINE_TUNE, PRETRAIN, StageLabel
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.phase_plans import FINALISTS, WINNER
from steeplechase.ledger.records import Decision, Record, Status
from tests.factories.simulated_training import chance_of
from tests.factories.stage_results import result_of

TOKENS = 2560
Value = Callable[[str, int, int], float]
"""A loss, or a score, of a candidate's text, a seed and tokens; NaN is divergence."""


def crossing(candidate: str, seed: int, tokens: int) -> float:
    """Return losses that fall and cross; one candidate in five diverges, at the first rung or later."""
    late = TOKENS // 4 if chance_of(candidate, "late") < 0.5 else 0
    if chance_of(candidate, "luck") < 0.2 and tokens > late:
        return float("nan")
    return 8 + chance_of(candidate, seed) - (1 + chance_of(candidate, "slope")) * tokens / TOKENS


def mirrored(candidate: str, seed: int, tokens: int) -> float:
    """Return scores that order the candidates as `crossing` does."""
    return -crossing(candidate, seed, tokens)


def flat(candidate: str, seed: int, tokens: int) -> float:
    """Return equal losses."""
    return 9.0


@dataclass(frozen=True)
class Ended:
    """A search at its end, without what the order of results may change."""

    arms: tuple[tuple[str, int, int, str], ...]
    decisions: tuple[Decision, ...]
    records: frozenset[tuple[str | None, str, Status]]
    finalists: Sequence[str]
    winner: Any


@dataclass
class PureSearch:
    """A search whose stages end at once, `workers` of them in progress in a random order."""

    experiment: Experiment
    loss: Value = crossing
    score: Value = mirrored
    workers: int = 1
    order: int = 0
    resumed: bool = False
    """Whether at every step a state that is made from the ledger must take the same step."""

    def run(self) -> Ended:
        """Return the search at its end. Fails where a resumed search goes on in another way."""
        order, running = random.Random(self.order), list[StageTask]()
        with closing(Ledger(Path(":memory:"))) as ledger:
            ledger.set_fact("document", {})
            state = RunState(self.experiment, SimulatedStages({}), ledger.path)
            while True:
                step = step_of(state)
                if self.resumed:
                    again = RunState(self.experiment, SimulatedStages({}), ledger.path)
                    again.apply_all(rows_of(ledger))
                    assert step_of(again) == step
                rows = written(ledger, step)
                free = (task for task in step.ready if task not in running)
                running += [] if rows else [task for task, _ in zip(free, range(self.workers - len(running)))]  # noqa: B905
                if not rows and not running:
                    return ended(ledger)
                if not rows:
                    task = running.pop(order.randrange(len(running)))
                    rows = [ledger.add_record(self._record(state, task))]
                state.apply_all(rows)

    def _record(self, state: RunState, task: StageTask) -> Record:
        assert task.trial is not None
        text = canonical_text(canonical(state.candidate_of(task.trial)))
        label, seed = StageLabel.parse(task.label), int(task.trial.rpartition("/")[2])
        tokens, trains = label.tokens or TOKENS, label.kind == PRETRAIN
        value = (self.loss if trains else self.score)(text, seed, tokens)
        status = Status.FINISHED if value == value else Status.DIVERGED
        found: dict[str, Any] = {"tokens": tokens, "held_out_loss": value}
        if not trains:
            found = {"task": "docs_pair", "seed": 1, "examples": 9, "scores": {"accuracy": value}}
        if status is Status.DIVERGED:
            found = {"tokens": tokens, "loss": "nan"} if trains else {"step": 1, "loss": "nan"}
        kind = label.kind if trains or label.tokens else FINE_TUNE
        result = result_of(kind, found, status)
        return Record(0, task.trial, kind, task.label, task.stage.key, status, result, 1.0, False)


def step_of(state: RunState) -> Step:
    """Return the next step, with the proposals that it may ask for."""
    step = next_step(state)
    return step if step.requested_proposals is None else proposed_step(state, step.requested_proposals)


def written(ledger: Ledger, step: Step) -> list[Row]:
    """Write the rows of a step, and return them as a ledger has them."""
    before = len(ledger.arms()) if step.arms else 0
    for name, value in step.facts.items():
        ledger.set_fact(name, value)
    for arm in step.arms:
        ledger.add_arm(arm)
    for trial in step.trials:
        ledger.add_trial(trial)
    decisions = [ledger.add_decision(decision) for decision in step.decisions]
    facts = [Fact(name, ledger.fact(name)) for name in step.facts]
    arms = ledger.arms(after=before) if step.arms else ()
    return [*facts, *arms, *step.trials, *decisions]


def ended(ledger: Ledger) -> Ended:
    """Return what a ledger says of a search."""
    finalists: Any = ledger.fact(FINALISTS)
    return Ended(
        tuple((arm.name, arm.position, arm.cohort, arm.fingerprint) for arm in ledger.arms()),
        tuple(
            sorted(
                (replace(each, sequence=0) for each in ledger.decisions()), key=lambda each: (each.trial, each.level)
            )
        ),
        frozenset((record.trial, record.label, record.status) for record in ledger.records()),
        [*(finalists or {}).get("finalists", ())],
        ledger.fact(WINNER),
    )
