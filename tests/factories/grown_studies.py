"""A results folder over which versions of one study are run, with simulated training."""

from pathlib import Path
from typing import Any

from runners.opening import RunRequest, open_ledger
from runners.settings import RunSettings
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.snapshot import Snapshot
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Killed, Track

ARMS: dict[str, Any] = {
    "narrow": {"bottleneck_ratio": 2},
    "dynamic": {"convolution": {"kind": "dynamic"}},
    "long": {"convolution": {"kind": "dynamic", "kernel_size": 5}},
}
TASKS = ("docs_pair", "docs_acceptability")


def study(folder: Path, arms: Any = (*ARMS,), seeds: Any = (1, 2), tasks: Any = TASKS, **parts: Any) -> Experiment:
    """Return a table of some arms, seeds and tasks; `parts` replace the sections of that name."""
    document = {
        "design": {"kind": "list", "arms": {name: ARMS[name] for name in arms}},
        "pretraining": {"tokens": 2560, "seeds": seeds if isinstance(seeds, dict) else [*seeds]},
        "fine_tuning": {"tasks": [*tasks], "seeds": [1], "sequence_length": 16} if tasks else {},
        **parts,
    }
    return simulated.experiment(folder, **document)


class Study:
    """A results folder over which versions of an experiment are run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.computed, self.warnings = folder, list[str](), list[str]()

    def run(self, experiment: Experiment, killed_after: int | None = None) -> Snapshot | None:
        """Run one version; None if its driver was killed."""
        paths = ResultPaths.of(self.folder / "results")
        request = RunRequest(experiment, "whole", paths, RunSettings(workers=1), on_warning=self.warnings.append)
        track = Track(experiment, self.folder / "results", left=killed_after, computed=self.computed)
        with open_ledger(request):
            pass
        try:
            return track.run()
        except Killed:
            return None
