"""Fixtures of the command line: a call in this process, and a results folder with given numbers."""

import shutil
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from reports.publishing import publish
from runners.opening import RunRequest, open_ledger
from runners.stage_labels import all_labels
from steeplechase.commands.arguments import choose
from steeplechase.commands.main import main
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths
from tests.factories.command_calls import ROOT, TABLE, Answer, Call, record
from tests.factories.first_cohort import declare_first_cohort


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that calls `steeplechase` in the checkout's root."""

    def called(*arguments: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["steeplechase", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended, chdir(ROOT):
            main()
        return Answer.of(ended.value, *capsys.readouterr())

    return called


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the smoke table, every trial of it finished."""
    folder = tmp_path_factory.mktemp("commands") / "results"
    chosen = choose(TABLE, "smoke")
    request = RunRequest(chosen.experiment, chosen.scale, ResultPaths.of(folder))
    with open_ledger(request) as ledger:
        declare_first_cohort(chosen.experiment, ArtifactStore(request.paths.stages), ledger)
        for number, trial in enumerate(ledger.trials()):
            for label in all_labels(chosen.experiment):
                ledger.add_record(record(trial.name, label, number))
    return folder


@pytest.fixture
def kept(results: Path, tmp_path: Path) -> Path:
    """Return a copy of a results folder."""
    return Path(shutil.copytree(results, tmp_path / "kept"))


@pytest.fixture(scope="session")
def publication(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a published report in a folder of its own."""
    folder = tmp_path_factory.mktemp("publications") / "table2-smoke"
    publish(results, folder)
    return folder


@pytest.fixture
def published(publication: Path, tmp_path: Path) -> Path:
    """Return a copy of the published report, alone in a folder."""
    return Path(shutil.copytree(publication, tmp_path / "set" / publication.name))
