"""A results folder is whole: wherever it lies, every command gives the same numbers, or all refuse it alike."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import runners.run
from runners.run import RunRequest, run
from runners.settings import RunSettings
from runners.stages.pretrain import PretrainStage
from runners.work_queue import StageTask
from steeplechase import load
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import MachineError, UserError
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.example_values import write_example_values
from steeplechase.ledger.paths import HELD_OUT_LOSSES, ResultPaths
from tests.factories import simulated_training as simulated
from tests.factories.command_calls import Call
from tests.factories.simulated_training import SimulatedExecutor, Track


class Trainer(Track):
    """A simulated run whose pretraining keeps the losses of single predictions."""

    def end(self, work: StageTask) -> Outcome:
        outcome = simulated.curve(work)
        assert isinstance(outcome, Outcome)
        store = ArtifactStore(self.folder)
        with store.computing(work.stage.key) as folder:
            if isinstance(work.stage.declaration, PretrainStage):
                spread = np.random.default_rng([len(work.trial or ""), work.stage.declaration.seed]).normal(
                    size=8 * 19
                )
                kept = write_example_values(folder / HELD_OUT_LOSSES, {"held_out_loss": 5 + spread})
                outcome = Outcome(outcome.status, {**outcome.result, "held_out_losses": kept}, 1.0)
            store.publish(work.stage.kind, work.stage.key, folder, outcome)
        return outcome


@pytest.fixture(autouse=True)
def _trains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def executor(request: RunRequest) -> SimulatedExecutor:
        assert isinstance(request.experiment, Experiment)
        return SimulatedExecutor(Trainer(request.experiment, request.paths.stages))

    monkeypatch.setattr(runners.run, "_executor_of", executor)


class Place:
    """Where a folder is read, and the commands that read it."""

    def __init__(self, call: Call, base: Path) -> None:
        self._call, self._base = call, base
        self._experiment = simulated.experiment(base, fine_tuning={})

    def run(self, folder: Path) -> None:
        run(RunRequest(self._experiment, "whole", ResultPaths.of(folder), RunSettings(workers=1)), lambda _: None)

    def answers(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield what every command says of a folder, without its own path."""
        for name in ("report", "compare"):
            yield name, self._said(name, folder, "--format", "csv")
        published = self._base / "published"
        yield "publish", self._said("publish", folder, published)
        if published.exists():
            yield "rebuild", self._said("rebuild", published, "--check") + (published / "report.md").read_text()
            shutil.rmtree(published)
        page = self._base / "page.html"
        yield "explore", self._said("explore", folder, "--out", page) + (page.read_text() if page.exists() else "")
        page.unlink(missing_ok=True)
        yield "load", self._loaded(folder)

    def _said(self, *arguments: str | Path) -> str:
        found = self._call(*arguments)
        return f"{found.code} {found.out}{found.err}".replace("steeplechase: ", "")

    def _loaded(self, folder: Path) -> str:
        try:
            return str(load(folder).effects().to_csv())
        except UserError as error:
            return f"{error.exit_code} {error}\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the experiment's text and the results that every test moves a copy of."""
    return tmp_path_factory.mktemp("original")


@pytest.fixture
def place(call: Call, base: Path) -> Place:
    return Place(call, base)


SAID: dict[str, str] = {}
"""What the commands say of the folder before it is moved."""


@pytest.fixture
def results(place: Place, base: Path, tmp_path: Path) -> Path:
    """Return a folder whose stages are shared with others under `results`."""
    original = base / "results" / "a"
    if not original.exists():
        (base / "results" / "stages").mkdir(parents=True)
        place.run(original)
        assert not (original / "stages").exists()
        SAID.update(place.answers(original))
    shutil.copytree(original.parent, tmp_path / "results")
    return tmp_path / "results" / "a"


def copied_without_stages(folder: Path, base: Path) -> Path:
    shutil.copytree(folder, base / "copied")
    shutil.rmtree(folder.parent)
    return base / "copied"


def renamed_parent(folder: Path, base: Path) -> Path:
    return folder.parent.rename(base / "former") / "a"


def stages_of_others(folder: Path, base: Path) -> Path:
    (base / "others" / "results" / "stages").mkdir(parents=True)
    return folder.rename(base / "others" / "results" / "a")


MOVES = (copied_without_stages, renamed_parent, stages_of_others)


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_every_command_gives_the_same_numbers_after_a_move(
    place: Place, results: Path, tmp_path: Path, move: Callable[[Path, Path], Path]
) -> None:
    moved = move(results, tmp_path)
    if move in (copied_without_stages, renamed_parent):
        place.run(moved)
    assert dict(place.answers(moved)) == SAID
    assert kept_example_tables(moved).keys() == {"held_out_loss"}


@pytest.mark.parametrize("fault", ["one missing", "another's"])
def test_every_command_refuses_alike_where_values_are_missing(
    place: Place, results: Path, tmp_path: Path, fault: str
) -> None:
    folder = copied_without_stages(results, tmp_path)
    first, second, *_ = sorted((folder / "examples").iterdir())
    missing = fault == "one missing"
    first.unlink() if missing else first.write_bytes(second.read_bytes())
    said = {text.partition("\n")[0] for _, text in place.answers(folder)}
    assert len(said) == 1
    assert f"{'5' if missing else '7'} " in said.pop()
    if missing:  # damage is found as the report is built, after the run
        with pytest.raises(MachineError, match=r"single examples are missing, which its intervals need"):
            place.run(folder)
