"""`plan` says how many candidates of a search can finish, and warns where the cohorts only set the hurdles."""

from pathlib import Path

import pytest

from steeplechase.configuration.designs.search import Tournament
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.validation.search import finishing_notes, finishing_warnings, most_finished
from tests.configuration.validation.test_search import MEAN, PAUSE, TEXT
from tests.runners.policies.test_evolution import POINTS, raced

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
