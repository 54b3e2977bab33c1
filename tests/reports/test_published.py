"""Published reports: their files are those that their rows give, and their documents are experiments."""

import io
import json
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from matplotlib.image import imread

from reports.write import DECLARATION, differing_files, published_files
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.text import experiment_text
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.paths import has_export
from tests.factories.paths import PUBLISHED, ROOT
from tests.factories.published_reports import NAMES, published_report, write_tables
from tools.audit.__main__ import main

DRAWN = (
    *("budget-wikipedia", "components-laptop", "kernel_size-wikipedia", "search-laptop", "table8-laptop"),
    *("table9-laptop", "transformer_xl_memory-laptop"),
)
"""Published reports that have every figure, and most arms."""


def pinned(name: str) -> str:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line.partition("==")[2].split()[0] for line in lines if line.startswith(f"{name}=="))


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_files_of_a_report_are_those_that_its_rows_give(name: str) -> None:
    drawn = () if version("matplotlib") == pinned("matplotlib") else (".svg",)  # its bytes are matplotlib's too
    differing = differing_files(PUBLISHED / name, published_files(published_report(name)))
    assert not [path for path in differing if not path.endswith(drawn)]


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_of_a_published_figure_crosses_its_edge(name: str) -> None:
    for each in published_report(name).pictures:
        shades = imread(io.BytesIO(each.png(dots_per_inch=50)))[..., :3].min(axis=-1)
        edge = min(shades[0].min(), shades[-1].min(), shades[:, 0].min(), shades[:, -1].min())
        assert edge > 0.95, each.name


def test_the_drawn_reports_have_every_published_figure() -> None:
    figures = {path.stem: path for path in PUBLISHED.glob("*/figures/*.svg")}
    assert figures.keys() == {path.stem for name in DRAWN for path in (PUBLISHED / name / "figures").glob("*.svg")}


@pytest.mark.slow
def test_every_published_conclusion_follows_from_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        write_tables(name, tmp_path)
    assert main(["--tables", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    clean = {line.partition(": ")[0] for line in lines if line.endswith(" values compared, 0 differ")}
    assert clean == {*NAMES, "all"} - {"table9-laptop"}
    assert any(line.startswith("table9-laptop: not recomputed: latencies") for line in lines)
    assert int(lines[-1].split()[1]) > 15_000


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
