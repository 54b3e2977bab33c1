"""A search that could compare or finish nothing is refused, or warned of, with the line of its reason."""

from pathlib import Path

import pytest

from steeplechase.configuration.experiment import objectives_of
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.policies.policy import Tournament
from steeplechase.configuration.validation.search import finishing_notes, finishing_warnings, most_finished
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.simulated_training import ARCHITECTURE, RECIPE, SEARCH, search
from tests.runners.policies.test_evolution import POINTS, raced

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
        (
            "space: { objective: [language_model] }",
            "1 of 1 tried: bidirectional with language model; allowed: left_to_right",
        ),
        (
            "space: { architecture.heads: [1], heads: [4] }",
            "1 of 1 tried: architecture.heads is the field heads, which is",
        ),
        (
            "space: { positions: [16, 64], recipe.sequence_length: [16, 32] }",
            "8: design: positions 16 is evaluated on the same sequences as all arms: 32 is longer than the 16",
        ),
        ("space: { hedas: [1, 4] }", "8: design.space.hedas: hedas is not a field of architecture"),
        (
            "space: { vocabulary_size: [100, 200] }",
            "8: design: vocabulary_size 100, vocabulary_size 200: a vocabulary below",
        ),
        (
            "space: { init_checkpoint: [nowhere] }",
            "8: design.space.init_checkpoint: nowhere: no initial checkpoint here",
        ),
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


def test_the_objectives_of_a_search_include_those_that_need_a_value_of_another_axis(tmp_path: Path) -> None:
    architecture, objective = {**ARCHITECTURE, "segments": 1}, {"kind": "masked_language_model"}
    baseline = {"architecture": architecture, "objective": objective, "recipe": RECIPE}
    space = {"objective": ["masked_language_model", "sentence_order_prediction"], "segments": [1, 2]}
    experiment = search(tmp_path, baseline=baseline, design={**SEARCH, "space": space})
    assert any(objective.packing.reads_sentences for objective in objectives_of(experiment))


def test_constraints_that_leave_the_baseline_alone_are_refused(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, constraints='["heads == 2"]')
    assert "design.space: no point of this space is possible" in line
    space = "space: { convolution: [none, span_dynamic], convolution.kernel_size: [3, 9] }"
    (line,) = refused(tmp_path, space, constraints="[\"convolution == 'none'\"]")
    assert line.endswith(". 2 of 3 tried: breaks \"convolution == 'none'\": convolution is span_dynamic")


@pytest.mark.parametrize(
    ("rungs", "said"),
    [
        ("[1, 2]", "rungs[1]: 2 ends with the same update of 512 tokens"),
        ("[5000, 5100]", "rungs[1]: 5100 ends with the same update of 512 tokens"),
        ("[19999]", "rungs[0]: 19999 ends with the last update of 512 tokens"),
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


HEADS = "space: { heads: [1, 2, 4] }"


WIDE = "space: { heads: [1, 2, 4, 8], depth: [1, 2, 3, 4], feed_forward_groups: [1, 2, 4] }"


HURDLES = f"{WIDE}, policy: progressive_hurdles, tournament: {{ children_per_hurdle: 2 }}, max_candidates: 20"


@pytest.mark.parametrize(
    ("design", "hurdle", "notes", "warning"),
    [
        (
            f"{WIDE}, max_candidates: 10, cohort: 4",
            MEAN,
            ["at most 2 of 9 candidates can finish: the first 2 cohorts (7 candidates) set the hurdles, one each"],
            "with 9 candidates and cohort 4 the cohorts only set the hurdles: at most 2 can finish",
        ),
        (f"{WIDE}, max_candidates: 6, cohort: 5", MEAN, ["at most 0 of 5"], "the hurdles: none can finish"),
        (f"{WIDE}, max_candidates: 26, cohort: 4", MEAN, ["at most 18 of 25"], ""),
        (f"{WIDE}, max_candidates: 9, cohort: 3", "{ kind: top_fraction, rungs: [5000] }", ["at most 3 of 8"], ""),
        (f"{WIDE}, max_candidates: 9, cohort: 4", "{ kind: asha, rungs: [5000] }", [], ""),
        (f"{WIDE}, max_candidates: 9", "{ kind: finite }", [], ""),
        (
            f"{HEADS}, max_candidates: 5",
            "{ kind: finite }",
            ["the space has 2 points beside the baseline: 2 of 4"],
            "",
        ),
        (
            f"{WIDE}, policy: tournament, trainings: 3",
            PAUSE,
            ["at most 3 of 19 candidates can finish: the budget of"],
            "",
        ),
        (f"{HURDLES}, trainings: 3", PAUSE, ["at most 1 of 19 candidates can finish: 2 children set each of 2"], ""),
        (f"{HURDLES}, trainings: 2", PAUSE, ["at most 0 of 19"], "no candidate can finish: 2 children set each of 2"),
    ],
)
def test_what_can_finish(tmp_path: Path, design: str, hurdle: str, notes: list[str], warning: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(TEXT.format(design=design, hurdle=hurdle, constraints="[]"))
    experiment = load_experiment(file, None)
    found = [*finishing_notes(experiment)]
    assert len(found) == len(notes)
    assert all(note in line for note, line in zip(notes, found, strict=True))
    assert warning in " ".join(finishing_warnings(experiment))
    assert bool(warning) == bool([*finishing_warnings(experiment)])


@pytest.mark.parametrize("trainings", [2.5, 3, 4, 6.5])
@pytest.mark.parametrize("each", [1, 2, 3])
def test_progressive_hurdles_finish_as_many_as_their_budget_allows(
    tmp_path: Path, each: int, trainings: float
) -> None:
    """Simulated on a table of losses that only fall, with rungs at thirds of a training."""
    settings = Tournament(population=4, tournament_size=4, children_per_hurdle=each)
    table = [tuple(100.0 - child - point for point in range(POINTS)) for child in range(40)]
    _, race, _, _ = raced(table, settings, budget=trainings)
    file = tmp_path / "f.yaml"
    design = f"{WIDE}, policy: progressive_hurdles, max_candidates: 41, trainings: {trainings}"
    design = f"{design}, tournament: {{ children_per_hurdle: {each} }}"
    hurdle = "{ kind: pause, rungs: [10240, 20480] }"
    text = TEXT.format(design=design, hurdle=hurdle, constraints="[]").replace("tokens: 20000", "tokens: 30720")
    file.write_text(text)
    experiment = load_experiment(file, None)
    assert experiment.search is not None
    assert sum(points == POINTS for points in race.reached.values()) <= most_finished(experiment, experiment.search)
