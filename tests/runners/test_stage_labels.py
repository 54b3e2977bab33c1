"""The labels of a trial name exactly the stages that the directed acyclic graph gives it."""

from pathlib import Path

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import all_labels, kind_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import StageLabel
from tests.factories import simulated_training as simulated


def experiments(folder: Path) -> tuple[Experiment, ...]:
    """Return a table, a search with rungs, and a search whose hurdles compare probes."""
    probe = {"kind": "asha", "rungs": [640, 1280], "probe": {"task": "docs_pair", "seed": 1}}
    return (
        simulated.experiment(folder),
        simulated.search(folder),
        simulated.search(folder, pretraining={"tokens": 2560, "seeds": [1], "hurdle": probe}),
    )


def test_all_labels_are_those_of_the_stages(tmp_path: Path) -> None:
    for experiment in experiments(tmp_path):
        stages = trial_stages(experiment, shared_stages(experiment), experiment.baseline, 1)
        labels = all_labels(experiment)
        assert set(labels) == set(stages)
        assert len(labels) == len(set(labels))


def test_a_probe_has_its_own_kind_in_the_ledger(tmp_path: Path) -> None:
    *_, probed = experiments(tmp_path)
    stages = trial_stages(probed, shared_stages(probed), probed.baseline, 1)
    kinds = {kind_of(label, stage) for label, stage in stages.items() if StageLabel.parse(label).kind == "probe"}
    assert kinds == {"probe"}
    assert {stages[label].kind for label in stages if label.startswith("probe@")} == {"fine_tune"}
