"""A search goes by no task below its references: sampler, finalists, winner and hurdles, and it names its basis."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runners.scheduling.cohort_search import CohortSearch
from runners.scheduling.rows import Fact, Rows
from runners.search.history import SearchHistory
from runners.search.next_arms import finalists_fact, in_effect, ranked_candidates, winner_fact
from steeplechase.configuration.arm import changed_arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import final_experiment
from steeplechase.configuration.hurdles.cohorts import TopFraction
from steeplechase.configuration.hurdles.population import State, TrialView
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rungs import Hurdle
from steeplechase.ledger.phase_plans import FINALISTS, FinalPlan
from steeplechase.ledger.records import ArmRow, Record, Status, TrialRow
from tests.factories import simulated_training as simulated
from tests.factories.keys import KEY
from tests.factories.simulated_training import SEARCH
from tests.factories.stage_results import result_of

METRICS = {"docs_acceptability": "matthews", "docs_pair": "accuracy"}
RATIOS = {"baseline": 1, "candidate-001": 2, "candidate-002": 4}
SCORES = {"docs_acceptability": (70.0, 65.0, 60.0), "docs_pair": (60.0, 65.0, 75.0)}
LOSSES = (4.0, 3.0, 3.5)
ABOVE, BELOW = 20.0, 90.0


def experiment(folder: Path, **pretraining: Any) -> Experiment:
    finalists = {"count": 1, "seeds": 2}
    design = {**SEARCH, "space": {"bottleneck_ratio": [1, 2, 4]}, "objectives": ["score"], "finalists": finalists}
    tuning = {"tasks": [*METRICS], "seeds": [1], "sequence_length": 16, "untrained_seeds": [1, 2]}
    settings = {"tokens": 2560, "seeds": [1], **pretraining}
    return simulated.experiment(folder, design=design, pretraining=settings, fine_tuning=tuning)


def searched(course: Experiment, chance: Mapping[str, float]) -> Rows:
    """Return a baseline and two candidates that have finished, beside chance and two untrained encoders."""
    rows = Rows(Path("ledger"))
    for task, score in chance.items():
        made = {"task": task, "chance": score, "bag_of_words": None, "train": {"examples": 9}, "dev": {"examples": 9}}
        add(rows, None, "examples", f"examples {task}", made)
        for seed in (1, 2):
            add(rows, None, "fine_tune", f"untrained {task}#{seed}", tuned(task, 10.0 + seed))
    for place, (name, ratio) in enumerate(RATIOS.items()):
        trained(rows, course, name, ratio, place, seeds=(1,))
    return rows


def trained(rows: Rows, course: Experiment, name: str, ratio: int, place: int, seeds: tuple[int, ...]) -> None:
    of = name.removesuffix("@final")
    arm = changed_arm(name, course.baseline, {} if of == "baseline" else {"bottleneck_ratio": ratio})
    final_of = {"final_of": of} if of != name else {}
    known = {"parameters": 1, "forward_flops": 1, "train_flops": 1, "position": len(rows.arms()), "cohort": 0}
    rows.add(ArmRow(**{**vars(arm), **known, **final_of}))
    for seed in seeds:
        trial = f"{name}/{seed}"
        rows.add(TrialRow(trial, name, seed))
        loss = {"tokens": 2560, "held_out_loss": LOSSES[place]}
        add(rows, trial, "pretrain", "pretrain@2560", loss)
        for task, scores in SCORES.items():
            add(rows, trial, "fine_tune", f"{task}#1", tuned(task, scores[place] + seed / 10))


def tuned(task: str, score: float) -> dict[str, Any]:
    return {"task": task, "seed": 1, "examples": 9, "scores": {METRICS[task]: score}}


def add(rows: Rows, trial: str | None, stage: str, label: str, result: Mapping[str, Any]) -> None:
    number = len(rows.records()) + 1
    rows.add(Record(number, trial, stage, label, KEY, Status.FINISHED, result_of(stage, result), 1.0, False))


CASES = {
    "both count": ((ABOVE, ABOVE), ("score",), ["candidate-002", "candidate-001"]),
    "the first counts": ((ABOVE, BELOW), ("score",), ["candidate-001", "candidate-002"]),
    "the second counts": ((BELOW, ABOVE), ("score",), ["candidate-002", "candidate-001"]),
    "none counts": ((BELOW, BELOW), ("held_out_loss",), ["candidate-001", "candidate-002"]),
}


@pytest.mark.parametrize(("chance", "objectives", "ranks"), CASES.values(), ids=[*CASES])
def test_sampler_and_finalists_go_by_the_tasks_above_their_references(
    tmp_path: Path, chance: tuple[float, float], objectives: tuple[str, ...], ranks: list[str]
) -> None:
    course = experiment(tmp_path)
    rows = searched(course, dict(zip(METRICS, chance, strict=True)))
    history = SearchHistory(course, rows)
    assert history.objectives == objectives
    assert ranked_candidates(history.objectives, history.candidates) == ranks
    counted = [task for task, known in zip(METRICS, chance, strict=True) if known == ABOVE]
    told = {name: seen.values for name, seen in history.candidates.items()}
    for place, values in enumerate(told.values(), start=1):
        scores = [SCORES[task][place] + 0.1 for task in counted]
        assert values == pytest.approx((sum(scores) / len(scores),) if counted else (LOSSES[place],))
    chosen = finalists_fact(course, rows)
    assert chosen is not None
    assert chosen["ranked_by"] == [*objectives]
    assert [*chosen["finalists"]] == ranks[:1]  # type: ignore[misc]
    assert course.search is not None
    assert in_effect(course.search, history).objectives == objectives


def test_where_no_loss_compares_a_score_of_no_task_leaves_no_objective(tmp_path: Path) -> None:
    course = experiment(tmp_path, evaluation_sets="by_objective")
    rows = searched(course, dict.fromkeys(METRICS, BELOW))
    history = SearchHistory(course, rows)
    assert course.search is not None
    assert history.objectives == ()
    assert in_effect(course.search, history).sampler == "random"
    assert finalists_fact(course, rows) is None


@pytest.mark.parametrize(("chance", "winner"), [(ABOVE, "candidate-002"), (BELOW, "candidate-001")])
def test_the_winner_is_the_best_by_the_same_rule(tmp_path: Path, chance: float, winner: str) -> None:
    course = experiment(tmp_path)
    rows = searched(course, {"docs_acceptability": BELOW, "docs_pair": chance})
    fact = finalists_fact(course, rows)
    assert fact is not None
    changes = {name: {"bottleneck_ratio": RATIOS[name]} for name in [*RATIOS][1:]}
    rows.add(Fact(FINALISTS, {**fact, "finalists": changes}))  # type: ignore[dict-item]
    for place, (name, ratio) in enumerate(RATIOS.items()):
        trained(rows, course, f"{name}@final", ratio, place, seeds=(2, 3))
    assert winner_fact(course, rows) == [winner]
    ranked_by = FinalPlan.of_record(fact).ranked_by
    assert final_experiment(course, changes, (2, 3), winner, ranked_by).headline_metrics == ranked_by


@pytest.mark.parametrize("rule", [TopFraction(rungs=(1,)), ProgressiveMean(rungs=(1,))], ids=lambda rule: rule.kind)
def test_a_threshold_below_the_references_of_its_probe_stops_no_trial(rule: Hurdle) -> None:
    def stops(reference: float | None, scores: Mapping[str, float | None]) -> set[str]:
        search = CohortSearch(rule)
        if reference is not None:
            search.require_below(-reference)
        search.observe(TrialView("first", 0, State.DONE, (-40.0,)), ended=True)
        for name, score in scores.items():
            values = (None if score is None else -score,)
            search.observe(TrialView(name, 1, State.WAITING, values), ended=False)
        return {name for name, decision in search.decisions().items() if not decision.cleared}

    scores = {"good": 44.0, "bad": 36.0, "without": None}
    assert stops(None, scores) == stops(30.0, scores) == {"bad", "without"}
    assert stops(50.0, scores) == stops(math.inf, scores) == {"without"}
