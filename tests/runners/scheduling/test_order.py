"""Trials run seed by seed, so that an unfinished table has the same seeds in every arm."""

from contextlib import suppress
from pathlib import Path

import pytest

from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Killed, Track, folder_of


@pytest.mark.parametrize("left", range(12, 32, 4))
def test_no_arm_is_two_seeds_ahead_of_another(tmp_path: Path, left: int) -> None:
    experiment = simulated.experiment(tmp_path, pretraining={"tokens": 2560, "seeds": [3, 1, 2]}, fine_tuning={})
    track = Track(experiment, folder_of(tmp_path, "results"), workers=1, left=left)
    ended: list[str] = []
    answer = track.answer

    def note(work: simulated.StageTask) -> object:
        ended.extend([work.trial] if work.trial else [])
        return answer(work)

    track.answer = note  # type: ignore[assignment]
    with suppress(Killed):
        track.run()
    seeds = [int(name.partition("/")[2]) for name in ended]
    arms = {arm.name for arm in experiment.arms}
    assert seeds == [seed for seed in (3, 1, 2) for _ in arms][: len(seeds)]
