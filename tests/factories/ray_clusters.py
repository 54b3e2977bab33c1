"""A Ray cluster on the loopback that a test starts and ends: a head and, where asked for, further nodes."""

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

from tests.factories.command_line import ROOT, descendants

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
