"""`report.yaml` of a report is the experiment that was run: reading it gives the same experiment."""

import json
from pathlib import Path

import pytest
import yaml

from reports.statistics.experiment import experiment_of
from reports.write import DECLARATION
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.writing import experiment_text
from steeplechase.ledger.reading import snapshot_at
from tests.factories.paths import ROOT

PUBLISHED = [path.parent for path in sorted((ROOT / "reports" / "published").glob(f"*/{DECLARATION}"))]


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_the_declaration_gives_the_recorded_experiment(folder: Path) -> None:
    snapshot = snapshot_at(folder)
    recorded = experiment_of(snapshot.document)
    assert experiment_in(read_file(folder / DECLARATION), None).identity() == recorded.identity()
    assert (folder / DECLARATION).read_text().startswith(f"# {snapshot.experiment}, ")


def test_published_reports_have_a_declaration() -> None:
    assert len(PUBLISHED) >= 10


def test_plugins_are_named_by_their_folders() -> None:
    document = {
        "experiment": "e",
        "question": "q?",
        "baseline": {},
        "design": {"kind": "list", "arms": {"a": {"heads": 2}}},
        "pretraining": {"tokens": 1000, "seeds": [1]},
        "plugins": [{"path": "../mine", "sha256": "0" * 64}],
    }
    experiment = Experiment.model_validate_json(json.dumps(document))
    assert yaml.safe_load(experiment_text(experiment, "a remark"))["plugins"] == ["../mine"]
