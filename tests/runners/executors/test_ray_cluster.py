"""Ray clusters: the requested number of concurrent trials, on nodes that can read the results folder."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, Run, command, descendants, lend, variables

RAY = (sys.executable, "-m", "ray.scripts.scripts")
WATCH = """
import sys, time, ray
ray.init(sys.argv[1], log_to_driver=False)
for line in sys.stdin:
    until = time.monotonic() + 120
    while ray.cluster_resources().get("CPU", 0) != float(line):
        assert time.monotonic() < until
        time.sleep(0.2)
    print(line, end="", flush=True)
"""
"""Answers a number of processors once the cluster has so many: one process, as importing Ray takes seconds."""
NOT_OURS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token"}
SOON_DEAD = {f"RAY_health_check_{name}": value for name, value in (("period_ms", "1000"), ("timeout_ms", "4000"))}
"""A killed node is known to be dead after five missed checks, by default of 3 s each."""


@dataclass
class Cluster:
    """Where a driver finds it, and the processes that make it."""

    address: str
    variables: Mapping[str, str]
    scratch: Path
    watch: "subprocess.Popen[bytes]"
    nodes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def join(self, cpus: int, *prefix: str) -> "subprocess.Popen[bytes]":
        """Add a node, started behind a prefix of words such as `unshare`."""
        command = [*prefix, *RAY, "start", "--block", f"--address={self.address}", f"--num-cpus={cpus}"]
        self.nodes.append(_started([*command, "--node-ip-address=127.0.0.1"], self.variables))
        return self.nodes[-1]

    def wait_for(self, cpus: float) -> None:
        """Wait until its nodes offer so many processors: a killed one does so until its heartbeats are missed."""
        assert self.watch.stdin is not None
        assert self.watch.stdout is not None
        self.watch.stdin.write(f"{cpus}\n".encode())
        self.watch.stdin.flush()
        assert self.watch.stdout.readline() == f"{cpus}\n".encode()


@contextmanager
def cluster(cpus: int) -> Iterator[Cluster]:
    """Start a head of so many processors; every process ends with the test."""
    scratch = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # its sockets' paths are short
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {**NOT_OURS, **SOON_DEAD, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    head = [*RAY, "start", "--head", "--block", f"--port={port}", f"--num-cpus={cpus}"]
    head += ["--node-ip-address=127.0.0.1", "--include-dashboard=false", f"--temp-dir={scratch}"]
    nodes = [_started(head, variables)]
    try:
        until = time.monotonic() + 120
        while not _listens(port) and time.monotonic() < until:
            time.sleep(0.2)
        address, pipe = f"127.0.0.1:{port}", subprocess.PIPE
        # a driver of the head, the only node so far
        with _started([sys.executable, "-c", WATCH, address], variables, pipe) as watch:
            yield Cluster(address, variables, scratch, watch, nodes)
    finally:
        for node in nodes:
            kill(node)
        shutil.rmtree(scratch, ignore_errors=True)


def kill(node: "subprocess.Popen[bytes]") -> None:
    """Kill a node with every process of it at once."""
    for process in [node.pid, *(below for below, _ in descendants(node.pid))]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    node.wait()


def _started(
    command: list[str], variables: Mapping[str, str], told: int = subprocess.DEVNULL
) -> "subprocess.Popen[bytes]":
    environment, quiet = {**os.environ, **variables}, subprocess.DEVNULL
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=told, stdout=told, stderr=quiet, start_new_session=True
    )


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


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
