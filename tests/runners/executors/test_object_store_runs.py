"""A run with its stages in an object store comes to what a local run comes to, after a kill too."""

import random
import shutil
from pathlib import Path

import pytest

from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.object_artifacts import artifact_store
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Killed, Track, folder_of, found


class Stored(Track):
    """A run whose stages are in an object store beside its folder."""

    @property
    def store(self) -> ArtifactStore:
        return artifact_store(self.folder / "stages", f"file://{self.folder}.objects")


@pytest.mark.parametrize("left", [4, 8])
def test_a_killed_run_goes_on_from_the_store_alone(tmp_path: Path, left: int) -> None:
    experiment = simulated.small_table(tmp_path)
    whole = Track(experiment, folder_of(tmp_path, "whole"))
    killed = Stored(experiment, folder_of(tmp_path, "killed"), left=left)
    with pytest.raises(Killed):
        killed.run()
    shutil.rmtree(killed.folder / "stages")  # the copies of this machine
    resumed = Stored(experiment, killed.folder, order=random.Random(left))
    assert found(resumed.run()) == found(whole.run())
    assert sorted(killed.computed + resumed.computed) == sorted(whole.computed)
