"""The command line called in this process, and a results folder whose numbers were put there by hand."""

import sys
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest

from commands.arguments import choose
from commands.main import main
from runners.course import Course, all_labels
from runners.driver import Request, open_ledger
from runners.itinerary import shared_stages
from runners.places import Places
from runners.records import Record, Status
from runners.store import StageStore

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "experiments" / "table2.yaml"


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


Call = Callable[..., Answer]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that calls `steeplechase` in the checkout's root."""

    def called(*arguments: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["steeplechase", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended, chdir(ROOT):
            main()
        code = ended.value.code
        out, err = capsys.readouterr()
        return Answer(code if isinstance(code, int) else int(code is not None), out, err)

    return called


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the smoke table, every trial of it finished."""
    folder = tmp_path_factory.mktemp("commands") / "results"
    chosen = choose(TABLE, "smoke")
    request = Request(chosen.experiment, chosen.scale, Places.of(folder))
    with open_ledger(request) as ledger:
        Course(chosen.experiment, shared_stages(chosen.experiment), StageStore(request.places.stages), ledger)
        for number, trial in enumerate(ledger.trials()):
            for label in all_labels(chosen.experiment):
                ledger.add_record(record(trial.name, label, number))
    return folder


def record(trial: str, label: str, number: int) -> Record:
    """Return a finished stage with numbers of no meaning."""
    pretrained = label.startswith("pretrain")
    curve = [[10_000, 6.5], [20_000, 6.0 + number / 100]]
    found = {"tokens": 20_000, "held_out_loss": 6.0 + number / 100, "held_out_curve": curve, "train_curve": curve}
    task, _, seed = label.partition("#")
    primary = {"docs_acceptability": "matthews", "docs_pair": "accuracy", "docs_answer": "f1"}
    kind = "pretrain" if pretrained else "fine_tune"
    if not pretrained:
        found = {"task": task, "seed": int(seed), "scores": {primary[task]: 50.0 + number}, "examples": 64}
    return Record(0, trial, kind, label, "key", Status.FINISHED, found, 1.0, False)
