"""What a plan says of tasks and their references."""

from pathlib import Path

from runners.plan_notes import reference_notes, standings_in
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.task_references import TaskReferences
from steeplechase.ledger.task_standing import standing_of
from tests.factories.simulated_training import experiment

TASKS = ("docs_pair", "docs_acceptability", "docs_minimal_pairs")
VALUES = [[61.0, 60.0], [62.0, 61.5]]


def test_a_task_below_a_reference_by_the_results_so_far_is_announced_and_one_above_is_not(tmp_path: Path) -> None:
    course = experiment(tmp_path, fine_tuning={"tasks": [*TASKS], "seeds": [1], "sequence_length": 16})
    known = {}
    for task, chance in zip(TASKS, (60.9, 50.0), strict=False):
        standing = standing_of(TaskReferences(task, "accuracy", chance, None, None, {}, ()), VALUES)
        assert standing is not None
        known[task] = standing
    below, unknown = reference_notes(course, known)
    assert below == (
        "docs_pair: no verdict rests on it by the results so far: the mean over all arms, 61.1, does not "
        "significantly exceed chance 60.9"
    )
    assert unknown.startswith("docs_minimal_pairs: a verdict rests on a task only where")
    assert standings_in(course, ResultPaths.of(tmp_path / "results" / "none")) == {}
