"""A search that could compare nothing is refused with the line of its reason."""

from pathlib import Path

import pytest

from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.errors import ConfigurationError

TEXT = """
experiment: searched
question: Is there anything to find?
baseline:
  architecture: {{ depth: 2, width: 64, heads: 2, positions: 64 }}
  objective: masked_language_model
  recipe: {{ sequence_length: 32, batch_sequences: 16, schedule: {{ kind: linear, warmup_tokens: 512 }} }}
design: {{ kind: search, {design} }}
pretraining: {{ tokens: 20000, seeds: [1], evaluations: 2, hurdle: {hurdle} }}
constraints: {constraints}
"""
MEAN = "{ kind: progressive_mean, rungs: [5000, 10000] }"
PAUSE = "{ kind: pause, rungs: [5000, 10000] }"


def refused(
    folder: Path, design: str = "space: { heads: [1, 2, 4] }", hurdle: str = MEAN, constraints: str = "[]"
) -> tuple[str, ...]:
    file = folder / "f.yaml"
    file.write_text(TEXT.format(design=design, hurdle=hurdle, constraints=constraints))
    try:
        load_experiment(file, None)
    except ConfigurationError as refusal:
        return refusal.lines
    return ()


@pytest.mark.parametrize(
    "design",
    [
        "space: { heads: [1, 2, 4] }",
        "space: { heads: [3, 2, 4] }",
        "space: { convolution: [none, depthwise], convolution.kernel_size: [3, 5] }",
    ],
)
def test_a_search_with_a_candidate_is_accepted(tmp_path: Path, design: str) -> None:
    assert refused(tmp_path, design) == ()


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ("space: { heads: [2] }", "8: design.space: no point of this space is possible beside the baseline"),
        ("space: { heads: [3, 5] }", "8: design.space: no point of this space is possible beside the baseline"),
        ("space: { heads: [1, 4] }, max_candidates: 1", "8: design.max_candidates: 1 is the baseline alone"),
        ("space: { heads: [1, 4] }, objectives: [score]", "8: design.objectives[0]: score needs a downstream task"),
        (
            "space: { heads: [1, 4] }, tournament: { population: 2, tournament_size: 3 }",
            "8: design.tournament.tournament_size: 3 is above the population, 2",
        ),
    ],
)
def test_a_search_without_a_candidate_is_refused(tmp_path: Path, design: str, said: str) -> None:
    (line,) = refused(tmp_path, design)
    assert said in line


def test_constraints_that_leave_the_baseline_alone_are_refused(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, constraints='["heads == 2"]')
    assert "design.space: no point of this space is possible" in line


@pytest.mark.parametrize(
    ("rungs", "said"),
    [
        ("[1, 2]", "rungs[1]: 2 ends with the same update of 512 tokens"),
        ("[5000, 5100]", "rungs[1]: 5100 ends with the same update of 512 tokens"),
        ("[19999]", "rungs[0]: 19999 ends with the last update of 512 tokens"),
        ("[5000, 5000]", "rungs[1]: 5000 is not above 5000"),
    ],
)
def test_two_rungs_of_one_update_are_refused(tmp_path: Path, rungs: str, said: str) -> None:
    (line,) = refused(tmp_path, hurdle=f"{{ kind: progressive_mean, rungs: {rungs} }}")
    assert said in line


def test_a_budget_below_the_first_rung_is_refused(tmp_path: Path) -> None:
    space = "space: { heads: [1, 2, 4] }, policy: tournament"
    assert refused(tmp_path, f"{space}, trainings: 0.25", PAUSE) == ()
    (line,) = refused(tmp_path, f"{space}, trainings: 0.2", PAUSE)
    assert "design.trainings: 0.2 trainings of 20000 tokens are fewer tokens than the first rung, 5000" in line


@pytest.mark.parametrize(
    ("design", "hurdle", "said"),
    [
        ("sampler: tournament", PAUSE, "design.sampler: 'tournament' was removed; write policy: tournament, with"),
        (
            "policy: backtested_slopes, trainings: 2",
            PAUSE,
            "design.policy: 'backtested_slopes' was removed; write no",
        ),
        ("cohort: 2", "{ kind: zero_cost }", "pretraining.hurdle.kind: 'zero_cost' was removed; write {kind: asha"),
    ],
)
def test_what_was_removed_is_refused_with_what_replaces_it(
    tmp_path: Path, design: str, hurdle: str, said: str
) -> None:
    (line,) = refused(tmp_path, f"space: {{ heads: [1, 2, 4] }}, {design}", hurdle)
    assert said in line
