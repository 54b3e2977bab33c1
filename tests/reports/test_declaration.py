"""Published documents are experiments, and `report.yaml` of a report is the experiment that was run."""

import json
from pathlib import Path

import pytest
import yaml

from reports.write import DECLARATION
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.text import experiment_text
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.paths import has_export
from tests.factories.paths import PUBLISHED

EXPORTED = sorted(folder for folder in PUBLISHED.iterdir() if has_export(folder))


def holds(written: object, document: object) -> bool:
    """Whether all of a document stands in what is written today, which may have fields that are younger."""
    if isinstance(document, dict) and isinstance(written, dict):
        return all(name in written and holds(written[name], value) for name, value in document.items())
    return written == document


@pytest.mark.parametrize("folder", EXPORTED, ids=lambda folder: folder.name)
def test_a_published_document_and_its_declaration_are_the_recorded_experiment(folder: Path) -> None:
    document = read_export(folder).fact("document")
    assert isinstance(document, dict)
    recorded = Experiment.of_record(document)
    written = recorded.model_dump(mode="json")
    assert holds(written, Experiment.without_removed(document))
    again = Experiment.model_validate_json(canonical_text(written))
    assert again == recorded
    declaration = folder / DECLARATION
    if declaration.exists():
        assert experiment_in(read_file(declaration), None).identity() == recorded.identity()
        assert declaration.read_text().startswith(f"# {recorded.experiment}, ")


def test_published_reports_have_a_declaration() -> None:
    assert sum((folder / DECLARATION).exists() for folder in EXPORTED) >= 10


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
