"""What the tests of commands share: where the experiments are, and how a command ended."""

import io
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from steeplechase.commands.main import main
from steeplechase.ledger.records import Record, Status
from tests.factories.command_line import UNANSWERED
from tests.factories.keys import KEY
from tests.factories.paths import ROOT
from tests.factories.stage_results import result_of

MAIN = [sys.executable, "-m", "steeplechase.commands.main"]
TABLE = ROOT / "experiments" / "table2.yaml"


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @classmethod
    def of(cls, ended: SystemExit, out: str, err: str) -> "Answer":
        """Return the answer of a command that has ended in this process."""
        return cls(ended.code if isinstance(ended.code, int) else int(ended.code is not None), out, err)


Call = Callable[..., Answer]


def called(*arguments: str | Path) -> Answer:
    """Call `steeplechase` in this process for a fixture that several tests share, without MLflow."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, chdir(ROOT), redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["steeplechase", *map(str, arguments)])
        patched.setenv("MLFLOW_TRACKING_URI", UNANSWERED)
        with pytest.raises(SystemExit) as ended:
            main()
    return Answer.of(ended.value, out.getvalue(), err.getvalue())


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
    return Record(0, trial, kind, label, KEY, Status.FINISHED, result_of(kind, found), 1.0, False)


def listed(folder: Path) -> dict[str, bytes | None]:
    """Return the content of every file under a folder; None for what is no regular file."""
    found = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in found
    }
