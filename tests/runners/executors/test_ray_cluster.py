"""Ray clusters: the requested number of concurrent trials, on nodes that can read the results folder."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, Run, command, lend, variables
from tests.factories.ray_clusters import Cluster, cluster, kill

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SHARED = ("corpus", "tokens", "evaluation_set")
MOUNTS = shutil.which("unshare") is not None and os.geteuid() == 0
"""Whether a node can have a mount of its own."""


@pytest.fixture(scope="module")
def head() -> Iterator[Cluster]:
    """A head without processors, which nodes join."""
    with cluster(0) as made:
        yield made


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the first node does not see."""
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def first(head: Cluster, hidden: Path) -> "subprocess.Popen[bytes]":
    """Return a node of the tests, until the last of them kills it."""
    mount = f'mount -t tmpfs none {hidden} && exec "$@"'
    node = head.join(3, *(("unshare", "-m", "sh", "-c", mount, "sh") if MOUNTS else ()))
    head.wait_for(3)
    return node


def started(of_cluster: Mapping[str, str], *arguments: str | Path) -> "subprocess.Popen[str]":
    environment = {**variables(), **of_cluster}
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*arguments), cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def at_work(folder: Path) -> int:
    """Return the number of trials that are running."""
    return sum(path.is_dir() for path in (folder / "stages" / "unfinished").glob("*"))


@pytest.mark.usefixtures("first")
@pytest.mark.skipif(not MOUNTS, reason="needs a mount of its own")
def test_a_node_without_the_results_folder_is_named_before_any_stage_runs_and_computes_with_a_store(
    head: Cluster, hidden: Path, small: Run, small_experiment: Path, tmp_path: Path
) -> None:
    url = f"file://{tmp_path}/objects"

    def told(folder: Path, *how: str) -> tuple[int, str]:
        asked = ("--engine", "ray", "--address", head.address, "--workers", "1", *how)
        with started(head.variables, "run", small_experiment, "--out", folder, *asked) as run:
            try:
                _, text = run.communicate(timeout=400)
            finally:
                run.kill()
        return run.returncode, text

    results = hidden / "results"
    code, text = told(results)
    assert code == 5, text
    last = text.splitlines()[-1]
    assert last.startswith("Ray node ")
    assert f"does not see {results / 'stages'}" in last
    assert last.endswith("put --out on a file system that all nodes share, or add --store")
    assert "Move the folder away" not in text
    assert [*(results / "stages").glob("*/*/manifest.json")] == []  # nothing was run before

    stored = hidden / "stored"
    code, text = told(stored, "--store", url)
    assert code == 0, text
    assert Run(stored, text, 0.0).table == small.table
    assert not [*(stored / "stages" / "pretrain").glob("*/checkpoint")]  # trained elsewhere, and not needed here
    assert not [*(tmp_path / "objects" / "probes").glob("*")]


def test_two_trials_run_at_a_time_and_none_fails_when_their_node_dies(
    head: Cluster, first: "subprocess.Popen[bytes]", small: Run, small_experiment: Path, tmp_path: Path
) -> None:
    lend(small.folder, tmp_path, SHARED)
    asked, most = ("--engine", "ray", "--address", head.address, "--workers", "2"), 0
    with started(head.variables, "run", small_experiment, "--out", tmp_path, *asked) as run:
        while (most < 2 or not list(tmp_path.glob("stages/pretrain/*/manifest.json"))) and run.poll() is None:
            most = max(most, at_work(tmp_path))
            time.sleep(0.02)
        kill(first)
        head.join(3)
        try:
            _, told = run.communicate(timeout=400)
        finally:
            run.kill()
    assert run.returncode == 0, told
    assert most == 2
    assert "failed" not in told
    assert "Could not" not in told
    assert Run(tmp_path, told, 0.0).table == small.table
    assert not list((tmp_path / "stages").glob("steeplechase*"))
