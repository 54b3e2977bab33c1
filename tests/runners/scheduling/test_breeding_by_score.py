"""Evolution breeds by the declared objective: a planted axis that moves it alone is found, and the other is not."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from runners.replay.recorded_decisions import reproduce
from runners.scheduling.race_of_trials import RaceOfTrials
from runners.search.breeding import ScoreFitness
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.stage_results.training import DivergedFineTuning
from steeplechase.ledger.task_references import TaskReferences
from tests.factories import simulated_training as simulated
from tests.factories.keys import KEY
from tests.factories.simulated_training import Track
from tests.factories.stage_results import result_of

TASK = "docs_pair"
VALUES = tuple(number / 40 for number in range(16))
MOVES = {"score": "recipe.dropout", "held_out_loss": "recipe.weight_decay"}
GENERATION = 10
UNIFORM, SEEDS = 0.5, (0, 1, 2)


def experiment(folder: Path, objective: str, seed: int = 0, **tournament: Any) -> Experiment:
    settings = {"population": GENERATION, "tournament_size": 5, "mutation_rate": 0.3, "initial_population": "random"}
    design = {
        "kind": "search",
        "space": {axis: [*VALUES] for axis in MOVES.values()},
        "policy": "tournament",
        "tournament": {**settings, **tournament},
        "trainings": 5 * GENERATION,
        "max_candidates": 99,
        "objectives": [objective],
        "seed": seed,
    }
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": {"kind": "pause", "rungs": [1280]}}
    tuning = {"tasks": [TASK], "seeds": [1], "sequence_length": 16}
    return simulated.experiment(folder, design=design, pretraining=pretraining, fine_tuning=tuning)


def place(candidate: Candidate, objective: str) -> float:
    """Return the place of a candidate's value on an objective's axis from 0 to 1; 1 is the best."""
    values = {"score": candidate.recipe.dropout, "held_out_loss": candidate.recipe.weight_decay}
    return VALUES.index(values[objective]) / 15


@cache
def raced_by(objective: str, seed: int) -> RaceOfTrials:
    """Return the search by an objective with a seed."""
    with TemporaryDirectory() as folder:
        return raced(experiment(Path(folder), objective, seed))


def raced(course: Experiment, chance: float = 0.0) -> RaceOfTrials:
    """Return the search of one worker; a child has its loss at every rung, and its score at the end."""
    references = TaskReferences(TASK, "accuracy", chance, None, None, {}, (10.0, 11.0))
    race = RaceOfTrials(course, {TASK: references})
    done = 0
    while waiting := race.started(done):
        arm = waiting[0]
        loss, score = 4 - place(arm.candidate, "held_out_loss"), 50 + 20 * place(arm.candidate, "score")
        for label in race.labels:
            race.add(record(arm.name, "pretrain", label, {"tokens": 64, "held_out_loss": loss}))
        tuned = {"task": TASK, "seed": 1, "examples": 9, "scores": {"accuracy": score}}
        race.add(record(arm.name, "fine_tune", f"{TASK}#1", tuned))
        done += 1
    return race


def record(arm: str, stage: str, label: str, result: dict[str, Any]) -> Record:
    return Record(1, f"{arm}/1", stage, label, KEY, Status.FINISHED, result_of(stage, result), 1.0, False)


@pytest.mark.parametrize("objective", MOVES)
def test_children_after_ten_candidates_have_the_better_values_of_the_axis_that_moves_the_objective(
    objective: str,
) -> None:
    other = next(name for name in MOVES if name != objective)
    races = [raced_by(objective, seed) for seed in SEEDS]
    children = [arm.candidate for race in races for arm in race.started()[GENERATION:]]
    moved, still = (fmean(place(candidate, name) for candidate in children) for name in (objective, other))
    assert moved > UNIFORM + 0.1
    assert moved > still + 0.1


def test_with_a_task_below_its_references_children_are_bred_by_the_loss(tmp_path: Path) -> None:
    below = raced(experiment(tmp_path, "score"), chance=90.0)
    by_loss = raced_by("held_out_loss", 0)
    assert [arm.changes for arm in below.started()] == [arm.changes for arm in by_loss.started()]


def test_a_candidate_of_which_one_seed_diverged_in_fine_tuning_is_the_worst(tmp_path: Path) -> None:
    course = experiment(tmp_path, "score")
    two_seeds = course.pretraining.model_copy(update={"seeds": (1, 2)})
    fitness = ScoreFitness(course.model_copy(update={"pretraining": two_seeds}), {})
    tuned = {"task": TASK, "seed": 1, "examples": 9, "scores": {"accuracy": 60.0}}
    for arm in ("sound", "diverged"):
        first = record(arm, "fine_tune", f"{TASK}#1", tuned)
        fitness.add(first)
        second = replace(first, trial=f"{arm}/2")
        diverged = replace(second, status=Status.DIVERGED, result=DivergedFineTuning(step=1, loss="nan"))
        fitness.add(second if arm == "sound" else diverged)
    assert [fitness.of(arm, 4.0) for arm in ("sound", "diverged")] == [-60.0, float("inf")]


def test_a_run_by_score_is_taken_again_from_its_records(tmp_path: Path) -> None:
    course = experiment(tmp_path, "score", population=2, tournament_size=2)
    assert course.search is not None
    short = course.search.model_copy(update={"trainings": 3, "at_once": 2})
    track = Track(course.model_copy(update={"design": (short,)}), tmp_path)
    seen = track.run()
    ends = {each.trial.arm: {record.label for record in each.records} for each in seen.histories}
    assert len(ends) == 4
    assert all(f"{TASK}#1" in labels for labels in ends.values())
    with simulated.opened(tmp_path / "ledger.sqlite") as ledger:
        assert reproduce(track.experiment, ledger).candidates == 3
