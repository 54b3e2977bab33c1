"""Tasks below a reference: the test is a one-sided t on the mean over arms, and the score leaves them out."""

from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.statistics.reading import results_of
from reports.statistics.results import Results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_references import TaskReferences
from steeplechase.ledger.task_standing import standing_of
from tests.factories.reports import Trial, document, primary, snapshot

SAMPLE = st.lists(st.integers(-400, 400).map(lambda value: value / 4), min_size=3, max_size=3, unique=True)
TASKS = ("docs_answer", "docs_pair")


def references(chance: float | None, untrained: tuple[float, ...] = ()) -> TaskReferences:
    return TaskReferences("docs_pair", "accuracy", chance, None, None, {}, untrained)


@given(SAMPLE, st.integers(-300, 300))
def test_with_one_arm_it_is_the_one_sample_t(sample: list[float], chance: int) -> None:
    p = stats.ttest_1samp(sample, chance, alternative="greater").pvalue
    found = standing_of(references(chance), [sample])
    assert found is not None
    assert found.below == (p > 0.05)


@given(SAMPLE, SAMPLE)
def test_against_untrained_encoders_it_is_the_two_sample_t(sample: list[float], untrained: list[float]) -> None:
    p = stats.ttest_ind(sample, untrained, alternative="greater").pvalue
    found = standing_of(references(-1e6, tuple(untrained)), [sample])
    assert found is not None
    assert found.below == (p > 0.05)


@given(st.lists(SAMPLE, min_size=2, max_size=4), st.floats(-9, 9))
def test_differences_between_arms_do_not_enter(samples: list[list[float]], chance: float) -> None:
    level = fmean(map(fmean, samples))
    equal = [[value - fmean(sample) + level for value in sample] for sample in samples]
    found, moved = (standing_of(references(chance), each) for each in (samples, equal))
    assert found is not None
    assert moved is not None
    assert moved.mean == pytest.approx(found.mean)
    if abs(found.mean - chance) > 1e-6:
        assert moved.missed == found.missed


@pytest.mark.parametrize(
    ("known", "arms", "below"),
    [
        (references(50.0), [[40.0]], False),  # without a spread nothing is tested
        (references(None), [[40.0, 41.0]], True),  # without a reference nothing is claimed
        (references(None, (1.0, 1.1)), [[40.0, 41.0]], True),  # an untrained encoder is no reference of its own
        (replace(references(None), extractive={"whole_text": 41.05}), [[40.0, 41.0], [40.5, 42.0]], True),
        (replace(references(None), extractive={"whole_text": 31.05}), [[40.0, 41.0], [40.5, 42.0]], False),
    ],
)
def test_a_task_is_below_what_it_does_not_exceed(known: TaskReferences, arms: list[list[float]], below: bool) -> None:
    """A task with a spread stays in the score only above all of its references, of which there must be one."""
    found = standing_of(known, arms)
    assert found is not None
    assert found.below is below


def view(**means: float) -> Snapshot:
    trials = []
    for arm, shift in (("baseline", 0.0), ("wide", 1.0)):
        for seed in (1, 2, 3):
            trial = Trial(arm, seed).pretrained(6.0 + 0.01 * seed)
            for task, mean in means.items():
                trial.tuned(task, 1, **{primary(task): mean + shift + 0.2 * seed})
            trials.append(trial)
    resolved = document(TASKS, fine_tuning={"tasks": [*TASKS], "seeds": [1]})
    arms = {"baseline": {}, "wide": {"width": 512}}
    return snapshot(trials, arms, TASKS, tuning_seeds=(1,), resolved=resolved)


def results(**means: float) -> Results:
    return results_of(view(**means), primary)


def test_the_score_is_the_mean_over_the_tasks_that_exceed_their_references() -> None:
    for means, below in (
        ({"docs_answer": 60.0, "docs_pair": 70.0}, ()),
        ({"docs_answer": 40.0, "docs_pair": 70.0}, ("docs_answer",)),
    ):
        found = results(**means)
        assert found.below_reference == below
        in_score = [task for task in TASKS if task not in below]
        for arm, by_metric in found.values.items():
            for seed, score in by_metric["score"].items():
                assert score == pytest.approx(fmean(found.values[arm][task][seed] for task in in_score))
        assert [metric.name for metric in found.headlines] == ["held_out_loss", "score"]


def test_where_every_task_is_below_there_is_no_score() -> None:
    found = results(docs_answer=40.0, docs_pair=41.0)
    assert found.below_reference == TASKS
    assert [metric.name for metric in found.headlines] == ["held_out_loss"]
    assert all("score" not in by_metric for by_metric in found.values.values())
    assert [name for _, name in found.families[0]] == ["held_out_loss"]
