"""What a plan says of tasks and their references."""

from pathlib import Path

import pytest

from runners.dag import shared_stages
from runners.plan_notes import final_notes, generator_notes, reference_notes, standings_in
from search_space.cost import MATMUL
from search_space.overrides import apply
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.task_references import TaskReferences, references_of
from steeplechase.ledger.task_standing import standing_of
from tests.factories.reports import examples_record
from tests.factories.simulated_training import SEARCH, experiment, search

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


def test_tasks_that_the_file_no_longer_declares_have_no_references(tmp_path: Path) -> None:
    shared = [examples_record("docs_pair"), examples_record("reviews")]  # a table of an earlier version of the file
    course = experiment(tmp_path, fine_tuning={"tasks": ["docs_pair"], "seeds": [1], "sequence_length": 16})
    assert [*references_of(shared, course.fine_tuning.primary_metric, course.fine_tuning.tasks)] == ["docs_pair"]


@pytest.mark.parametrize("objective", ["masked_language_model", "replaced_token_detection"])
def test_the_generator_of_the_evaluation_set_is_named_with_its_cost(tmp_path: Path, objective: str) -> None:
    course = experiment(tmp_path, pretraining={"tokens": 2560, "seeds": [1], "reference_generator_tokens": 25600})
    course = course.with_parts(baseline=apply(course.baseline, {"objective": {"kind": objective}}))
    baseline, notes = course.baseline, [*generator_notes(course, shared_stages(course), MATMUL)]
    if objective == "masked_language_model":
        assert not notes
        return
    generator = baseline.objective.reference_generator(baseline.architecture)
    assert generator is not None
    masked = apply(baseline, {"objective": {"kind": "masked_language_model"}})
    alone = masked.model_copy(update={"architecture": generator})
    flops, whole = alone.train_flops(25600, generator), baseline.train_flops(2560, baseline.architecture)
    (line,) = notes
    assert f"a generator of {generator.parameters:,} parameters is trained first, on 25,600 tokens" in line
    assert line.endswith(f"{flops / whole:,.2f} times the FLOPs of a training of the baseline")


@pytest.mark.parametrize(("count", "most"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_plan_counts_no_more_finalists_than_candidates(tmp_path: Path, count: int, most: int) -> None:
    design = {**SEARCH, "max_candidates": 4, "cohort": 2, "finalists": {"count": count, "seeds": 2}}
    course = search(tmp_path, design=design)
    (line,) = final_notes(course)
    assert line.startswith(f"then {most} finalist")
    assert line.endswith(f"{(most + 1) * 2} full trainings at most")
    assert (f"(of {count} asked for; there can be no more candidates)" in line) == (most < count)


def test_a_plan_says_that_one_axis_leaves_nothing_to_ablate(tmp_path: Path) -> None:
    final = {"finalists": {"count": 1, "seeds": 2}, "ablate_winner": "leave_one_out"}
    for space, nothing in (({"heads": [2, 4]}, True), (SEARCH["space"], False)):
        (line,) = final_notes(search(tmp_path, design={**SEARCH, "space": space, **final}))
        assert ("nothing to ablate" in line, "arms that ablate the winner" in line) == (nothing, not nothing)
