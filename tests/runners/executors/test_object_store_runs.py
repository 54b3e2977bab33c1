"""Runs with their stages in an object store give the table of a local run, also where no folder is shared."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, Run, command, kill, start, steeplechase
from tests.factories.ray_clusters import cluster

pytestmark = [pytest.mark.engines, pytest.mark.slow]


def test_a_killed_run_goes_on_from_the_store_alone(small: Run, small_experiment: Path, tmp_path: Path) -> None:
    results, url = tmp_path / "results", f"file://{tmp_path}/objects"
    run = start("run", small_experiment, "--out", results, "--store", url, "--workers", "1")
    while not list(tmp_path.glob("objects/stages/pretrain/*.json")) and run.poll() is None:
        time.sleep(0.05)
    kill(run)
    finished = list((tmp_path / "objects" / "stages").glob("*/*.json"))
    shutil.rmtree(results / "stages")  # the copies of this machine
    unnamed = steeplechase("run", small_experiment, "--out", results, "--workers", "1")
    assert unnamed.returncode == 6
    assert f"run it again with --store {url}" in unnamed.stderr  # a recorded address is not contacted
    done = steeplechase("run", small_experiment, "--out", results, "--store", url, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert Run(results, done.stderr, 0.0).table == small.table
    later = set((tmp_path / "objects" / "stages").glob("*/*.json"))
    assert later > {*finished}
    refused = steeplechase("run", small_experiment, "--out", results, "--store", "file:///elsewhere")
    assert refused.returncode == 6
    assert f"its stages are in {url}" in refused.stderr


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="needs a mount of its own")
def test_a_node_without_the_results_folder_computes_with_a_store(
    small: Run, small_experiment: Path, tmp_path: Path
) -> None:
    results, url = tmp_path / "results", f"file://{tmp_path}/objects"
    results.mkdir()
    hidden = f'mount -t tmpfs none {results} && exec "$@"'
    with cluster(0) as made:
        made.join(1, "unshare", "-m", "sh", "-c", hidden, "sh")
        made.wait_for(1)
        asked = ("--engine", "ray", "--address", made.address, "--workers", "1", "--store", url)
        environment = {**os.environ, **made.variables}
        arguments = command("run", small_experiment, "--out", results, *asked)
        run = subprocess.run(
            arguments, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, check=False
        )
    assert run.returncode == 0, run.stderr
    assert Run(results, run.stderr, 0.0).table == small.table
    assert not [*(results / "stages" / "pretrain").glob("*/checkpoint")]  # trained elsewhere, and not needed here
    assert not [*(tmp_path / "objects" / "probes").glob("*")]
