"""The compiled operators are had where there is a compiler and done without where there is none, in silence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models.operators.native.library import library

ASK = "from models.operators.native.library import arithmetic; print(arithmetic())"
COMPUTE = """
import torch
from models.operators.window import depthwise_window_sum
print(depthwise_window_sum(torch.ones(1, 4, 2), torch.ones(3, 2)).sum().item())
"""
compiled = pytest.mark.skipif(library() is None, reason="this machine has no C compiler")


def told(script: str, **environment: str) -> str:
    """Return what a fresh interpreter prints; nothing may be said on the other stream."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@compiled
def test_the_library_is_built_once_and_told_by_its_sources(tmp_path: Path) -> None:
    first = told(ASK, XDG_CACHE_HOME=str(tmp_path))
    (built,) = (tmp_path / "steeplechase").iterdir()
    stamp = built.stat().st_mtime_ns
    assert first.startswith("native ")
    assert told(ASK, XDG_CACHE_HOME=str(tmp_path)) == first
    assert built.stat().st_mtime_ns == stamp
    assert built.parent.stat().st_mode & 0o077 == 0, "nobody else may put a library there"


def test_without_a_compiler_torch_does_it_alone(tmp_path: Path) -> None:
    assert told(ASK, PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "portable"
    assert told(COMPUTE, PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "20.0"
    assert told(ASK, STEEPLECHASE_NATIVE="0") == "portable"


@pytest.mark.parametrize("ending", ["exit 1", "kill -9 $$", 'echo "not a library" > "$9"; exit 0'])
def test_a_compiler_that_fails_is_done_without(ending: str, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\n{ending}\n")
    compiler.chmod(0o755)
    assert told(ASK, PATH=f"{tmp_path}:{os.environ['PATH']}", XDG_CACHE_HOME=str(tmp_path)) == "portable"


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "steeplechase").write_text("a file stands in the way")
    assert told(ASK, XDG_CACHE_HOME=str(tmp_path)) == "portable"
