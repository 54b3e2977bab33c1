"""A reader that closes the pipe, as `| head` does: no command fails for it, and a run stops so that it resumes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pytest

from steeplechase.commands.output import readers_may_go
from tests.factories.command_calls import MAIN, TABLE, Call
from tests.factories.paths import ROOT


@contextmanager
def closed_pipe() -> Iterator[TextIO]:
    """Give a pipe to write to whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    pipe = open(writer, "w", encoding="utf-8", buffering=1)  # noqa: PTH123, SIM115 — a descriptor, closed below
    yield pipe
    with suppress(BrokenPipeError):  # of what is left in its buffer
        pipe.close()


def ended(*command: str | Path) -> tuple[int, str]:
    """Return the exit code of a process without a reader, and what it says on the error stream."""
    with closed_pipe() as pipe:
        done = subprocess.run(
            [*map(str, command)], cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    return done.returncode, done.stderr


def test_a_command_whose_reader_goes_has_done_its_work() -> None:
    assert ended(*MAIN, "schema") == (0, "")


def test_what_follows_an_unread_output_is_done() -> None:
    used = f"from {readers_may_go.__module__} import {readers_may_go.__name__} as allowed"
    script = f"{used}\nimport sys\nwith allowed():\n    print('brief', flush=True)\nprint('later')\nsys.exit(8)"
    assert ended(sys.executable, "-c", script) == (8, "")


def test_a_run_whose_progress_nobody_reads_is_stopped_and_resumable(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_pipe() as pipe:
        monkeypatch.setattr(sys, "stderr", pipe)
        short = ("--set", "pretraining.tokens=2000")  # warned of in the first line
        answer = call("run", TABLE, "--scale", "smoke", *short, "--out", tmp_path / "results")
    assert (answer.code, answer.out) == (75, "")
    assert not [*(tmp_path / "results" / "stages").glob("pretrain/*")]
