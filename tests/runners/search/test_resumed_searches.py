"""A search takes the same steps after a death at every step, in any order of results, and with every sign changed."""

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

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
from tests.factories import simulated_training as simulated
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


PROBE = {"probe": {"task": "docs_pair"}}
MARKS = {"rungs": [640, 1280]}
HURDLES: dict[str, dict[str, Any]] = {
    "finite": {"kind": "finite"},
    "progressive_mean": {"kind": "progressive_mean", **MARKS},
    "all_so_far": {"kind": "progressive_mean", **MARKS, "population": "all_so_far"},
    "top_fraction": {"kind": "top_fraction", **MARKS},
    "asha": {"kind": "asha", **MARKS, "reduction_factor": 2.0},
    "hyperband": {"kind": "hyperband", **MARKS, "reduction_factor": 2.0},
    "rank_checked": {"kind": "rank_checked", **MARKS, "reduction_factor": 2.0, "correlation": 0.1},
}
PAUSE = {"kind": "pause", **MARKS}
EVOLUTION = {"population": 3, "tournament_size": 2, "mutation_rate": 0.4, "initial_population": "random"}
SPACE = {"recipe.dropout": [0.0, 0.1, 0.2, 0.3], "recipe.weight_decay": [0.0, 0.01, 0.1]}
COHORTS = {"max_candidates": 9, "cohort": 3}
FEW = {"max_candidates": 5, "cohort": 2}
"""One more than a space of two candidates at two seeds has: the last cohort finds it exhausted."""
POLICY = {"max_candidates": 11, "trainings": 3, "tournament": EVOLUTION}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"random, {name}": (name, {"sampler": "random", **COHORTS}) for name in HURDLES},
    **{sampler: ("asha", {"sampler": sampler, **COHORTS}) for sampler in ("tpe", "nsga2", "brute_force")},
    "repeats": ("asha", {"sampler": "tpe", **FEW, "space": {"recipe.dropout": [0.0, 0.1, 0.2]}, "max_seeds": 2}),
    "tournament": ("pause", {"policy": "tournament", **POLICY}),
    "progressive_hurdles": ("pause", {"policy": "progressive_hurdles", **POLICY}),
}


def search(folder: Path, hurdle: str, probed: bool = False, **design: Any) -> Experiment:
    """Return a search with an audit and finalists; a probed one is by score."""
    kind = HURDLES.get(hurdle, PAUSE)
    by_score = {"objectives": ["score"]} if probed else {}
    final = {"finalists": {"count": 1, "seeds": 2}, "ablate_winner": "one_factor"}
    declared = {"kind": "search", "space": SPACE, **final, **by_score, **design}
    audit = None if hurdle == "finite" else {"share": 0.5, "seed": 3}
    settings = {**kind, **(PROBE if probed and "rungs" in kind else {})}
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": settings, "audit": audit}
    tuning = {"tasks": ["docs_pair"], "seeds": [1], "sequence_length": 16} if probed else {}
    return simulated.experiment(folder, design=declared, pretraining=pretraining, fine_tuning=tuning)


@pytest.mark.parametrize("named", SETTINGS)
def test_a_search_resumed_at_every_step_takes_the_same_step(tmp_path: Path, named: str) -> None:
    hurdle, design = SETTINGS[named]
    whole = PureSearch(search(tmp_path, hurdle, **design), resumed=True)
    found = whole.run()
    assert found.winner
    assert len(found.arms) > 4
    assert replace(whole, resumed=False, workers=4, order=1).run() == found


@pytest.mark.parametrize("hurdle", HURDLES)
def test_scores_that_are_the_losses_with_the_sign_changed_take_the_same_search(tmp_path: Path, hurdle: str) -> None:
    by_loss = PureSearch(search(tmp_path, hurdle, sampler="tpe", **COHORTS)).run()
    by_score = PureSearch(search(tmp_path, hurdle, probed=True, sampler="tpe", **COHORTS), loss=flat).run()
    assert by_score.arms == by_loss.arms
    assert (by_score.finalists, by_score.winner) == (by_loss.finalists, by_loss.winner)
    compared = {(one.trial, one.level): one for one in by_score.decisions if one.value is not None}
    assert len(compared) == len(by_loss.decisions)
    for one in by_loss.decisions:
        other = compared[one.trial, one.level]
        assert (one.cleared, one.cohort) == (other.cleared, other.cohort)
        assert one.value is not None
        assert other.value == -one.value
        assert other.threshold == (None if one.threshold is None else -one.threshold)


def test_the_ranks_of_a_probe_are_checked_against_the_scores_of_a_search_by_score(tmp_path: Path) -> None:
    design = {"sampler": "random", "max_candidates": 20, "cohort": 5, "space": {**SPACE, "heads": [2, 4]}}

    def parallel(candidate: str, seed: int, tokens: int) -> float:
        return 50 + 20 * chance_of(candidate) + tokens / 1000

    found = PureSearch(search(tmp_path, "rank_checked", probed=True, **design), flat, parallel).run()
    last = [arm for arm, _, cohort, _ in found.arms if cohort == 3]
    ends = [one for one in found.decisions if one.trial.split("/")[0] in last and one.level == 1]
    assert len(last) == 5
    assert all(one.threshold is not None for one in ends)  # equal losses at the end would say that ranks are wrong


@pytest.mark.parametrize("hurdle", HURDLES)
def test_a_search_of_equal_values_or_of_none_ends(tmp_path: Path, hurdle: str) -> None:
    course = search(tmp_path, hurdle, sampler="tpe", **COHORTS)
    assert PureSearch(course, loss=flat).run().winner
    lost = PureSearch(course, loss=lambda candidate, seed, tokens: float("nan")).run()
    assert len(lost.arms) == COHORTS["max_candidates"]
    assert not lost.finalists


@pytest.mark.parametrize("hurdle", HURDLES)
def test_a_search_of_fewer_candidates_than_a_cohort_ends(tmp_path: Path, hurdle: str) -> None:
    for candidates in (1, 2):
        found = PureSearch(search(tmp_path, hurdle, sampler="tpe", max_candidates=candidates, cohort=4)).run()
        searched = [name for name, *_ in found.arms if not name.endswith("@final")]
        assert len(searched) == candidates
        assert bool(found.winner) == (candidates > 1)
