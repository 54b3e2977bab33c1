"""The compiled operators are built if there is a compiler; otherwise torch is used, silently."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from steeplechase.models.kernels.native.build import LOAD, library
from tests.factories.paths import ROOT

ASK = "from steeplechase.models.kernels.native.build import arithmetic; print(arithmetic())"
COMPUTE = """
import torch
from steeplechase.models.kernels.window import depthwise_window_sum
from steeplechase.models.kernels.native.build import arithmetic
print(depthwise_window_sum(torch.ones(1, 4, 2), torch.ones(3, 2)).sum().item(), arithmetic())
"""
compiled = pytest.mark.skipif(library() is None, reason="this machine has no C compiler")


def told(script: str, **environment: str) -> str:
    """Return the output of a fresh interpreter, which must not write to the error stream or to its folder."""
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert [*Path(folder).iterdir()] == []
    assert done.stderr == ""
    return done.stdout.strip()


def test_without_a_compiler_torch_is_used(tmp_path: Path) -> None:
    assert told(COMPUTE, PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "20.0 portable"
    assert told(ASK, STEEPLECHASE_NATIVE="0") == "portable"


def loads(path: Path) -> bool:
    """Return whether a separate process can load a library; a truncated one may crash it."""
    command = [sys.executable, "-I", "-c", LOAD, str(path)]
    return subprocess.run(command, capture_output=True, check=False, timeout=120).returncode == 0


def fake_compiler(folder: Path, work: str, version: str = "fake 1") -> str:
    """Return a PATH on which `cc` does `work`, a shell script in which $out is the file to build.

    What it has built is kept as `built` in the folder, where the work ends with success.
    """
    folder.mkdir(exist_ok=True)
    compiler = folder / "cc"
    asked = f"""case "$1" in --version) echo "{version}"; exit 0;; esac"""
    given = """for argument; do [ "$last" = "-o" ] && out=$argument; last=$argument; done"""
    keep = f"""if [ -e "$out" ]; then cp "$out" "{folder}/built"; fi"""
    compiler.write_text(f"#!/bin/sh\n{asked}\n{given}\n({work}) || exit\n{keep}\n")
    compiler.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("work", "built"),
    [
        ("kill -9 $$", None),
        ("exit 0", None),
        ('echo "not a library" > "$out"', b"not a library\n"),
    ],
)
def test_after_a_failed_compilation_the_portable_operators_are_used_and_no_file_remains(
    work: str, built: bytes | None, tmp_path: Path
) -> None:
    path = fake_compiler(tmp_path / "bin", work)
    assert told(ASK, PATH=path, XDG_CACHE_HOME=str(tmp_path)) == "portable"
    assert list((tmp_path / "steeplechase").iterdir()) == []
    shown = tmp_path / "bin" / "built"
    assert (shown.read_bytes() if shown.exists() else None) == built
    assert not loads(shown)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a cache with the compiled library, and its arithmetic."""
    cache = tmp_path_factory.mktemp("sound")
    return cache, told(ASK, XDG_CACHE_HOME=str(cache))


def copied(sound: Path) -> str:
    """Return the work of a compiler that takes a library compiled before, in place of seconds of compilation."""
    (built,) = (sound / "steeplechase").iterdir()
    return f'cp "{built}" "$out"'


@compiled
def test_a_truncated_library_from_the_compiler_is_not_used(sound: tuple[Path, str], tmp_path: Path) -> None:
    path = fake_compiler(tmp_path / "bin", f'{copied(sound[0])} && truncate -s 4096 "$out"')
    assert told(ASK, PATH=path, XDG_CACHE_HOME=str(tmp_path)) == "portable"
    shown = tmp_path / "bin" / "built"
    assert shown.stat().st_size == 4096
    assert not loads(shown)
    assert list((tmp_path / "steeplechase").iterdir()) == []


@compiled
def test_the_library_is_built_once_and_identified_by_its_sources(sound: tuple[Path, str]) -> None:
    cache, first = sound
    (built,) = (cache / "steeplechase").iterdir()
    stamp = built.stat().st_mtime_ns
    assert first.startswith("native ")
    assert told(ASK, XDG_CACHE_HOME=str(cache)) == first
    assert built.stat().st_mtime_ns == stamp
    assert built.parent.stat().st_mode & 0o077 == 0, "nobody else may put a library there"


@compiled
def test_a_damaged_cached_library_is_rebuilt_and_loaded(sound: tuple[Path, str], tmp_path: Path) -> None:
    cache, arithmetic = sound
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    (built,) = (tmp_path / "steeplechase").iterdir()
    content = built.read_bytes()
    built.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
    assert told(ASK, XDG_CACHE_HOME=str(tmp_path)) == arithmetic
    (again,) = (tmp_path / "steeplechase").iterdir()
    assert loads(again)
    assert again.stem.endswith(hashlib.sha256(again.read_bytes()).hexdigest()[:12])


@compiled
def test_another_compiler_gives_another_arithmetic_and_library(sound: tuple[Path, str], tmp_path: Path) -> None:
    keys = []
    for version in ("fake 1", "fake 2", "fake 1"):
        path = fake_compiler(tmp_path / "bin", copied(sound[0]), version)
        keys.append(told(ASK, PATH=path, XDG_CACHE_HOME=str(tmp_path)))
    assert keys[0] == keys[2] != keys[1]
    assert all(key.startswith("native ") for key in keys)
    assert len(list((tmp_path / "steeplechase").iterdir())) == 2


@compiled
def test_an_unwritable_cache_changes_no_arithmetic(sound: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "steeplechase").write_text("a file stands in the way")
    (temporary := tmp_path / "temporary").mkdir()
    assert told(ASK, XDG_CACHE_HOME=str(tmp_path), TMPDIR=str(temporary)) == sound[1]
    assert [*temporary.iterdir()] == []
