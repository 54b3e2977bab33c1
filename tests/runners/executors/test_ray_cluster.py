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


@pytest.fixture(scope="module")
def four_processors() -> Iterator[Cluster]:
    with cluster(4) as made:
        yield made


def started(of_cluster: Mapping[str, str], *arguments: str | Path) -> "subprocess.Popen[str]":
    environment = {**variables(), **of_cluster}
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*arguments), cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def at_work(folder: Path) -> int:
    """Return the number of trials that are running."""
    return sum(path.is_dir() for path in (folder / "stages" / "unfinished").glob("*"))


def test_at_most_one_trial_per_requested_worker_runs_at_a_time(
    four_processors: Cluster, small: Run, small_experiment: Path, tmp_path: Path
) -> None:
    lend(small.folder, tmp_path, SHARED)
    asked = ("--engine", "ray", "--address", four_processors.address, "--workers", "2")
    most = 0
    with started(four_processors.variables, "run", small_experiment, "--out", tmp_path, *asked) as run:
        while run.poll() is None:
            most = max(most, at_work(tmp_path))
            time.sleep(0.02)
        _, told = run.communicate()
    assert run.returncode == 0, told
    assert most == 2
    assert Run(tmp_path, told, 0.0).table == small.table
    assert "Could not" not in told
    assert not list((tmp_path / "stages").glob("steeplechase*"))


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="needs a mount of its own")
def test_a_node_without_the_results_folder_is_named_before_any_stage_runs(
    small_experiment: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    hidden = f'mount -t tmpfs none {results} && exec "$@"'
    with cluster(0) as made:
        made.join(1, "unshare", "-m", "sh", "-c", hidden, "sh")
        made.wait_for(1)
        asked = ("--engine", "ray", "--address", made.address, "--workers", "1")
        with started(made.variables, "run", small_experiment, "--out", results, *asked) as run:
            try:
                _, told = run.communicate(timeout=240)
            finally:
                run.kill()
    assert run.returncode == 5, told
    last = told.splitlines()[-1]
    assert last.startswith("Ray node ")
    assert f"does not see {results / 'stages'}" in last
    assert last.endswith("put --out on a file system that all nodes share, or add --store")
    assert "Move the folder away" not in told
    assert [*(results / "stages").glob("*/*/manifest.json")] == []  # nothing was run before


def test_no_trial_fails_when_a_node_dies(small: Run, small_experiment: Path, tmp_path: Path) -> None:
    lend(small.folder, tmp_path, SHARED)
    with cluster(0) as made:
        node = made.join(1)
        made.wait_for(1)
        asked = ("--engine", "ray", "--address", made.address, "--workers", "1")
        with started(made.variables, "run", small_experiment, "--out", tmp_path, *asked) as run:
            while not list(tmp_path.glob("stages/progress/*.json")) and run.poll() is None:
                time.sleep(0.05)
            kill(node)
            made.join(1)
            try:
                _, told = run.communicate(timeout=400)
            finally:
                run.kill()
    assert run.returncode == 0, told
    assert "failed" not in told
    assert Run(tmp_path, told, 0.0).table == small.table
