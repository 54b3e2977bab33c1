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
WAIT = """
import time, ray
ray.init("{address}", log_to_driver=False)
while ray.cluster_resources().get("CPU", 0) != {cpus}:
    time.sleep(0.2)
"""
NOT_OURS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token"}
SOON_DEAD = {f"RAY_health_check_{name}": value for name, value in (("period_ms", "1000"), ("timeout_ms", "4000"))}
"""A killed node is known to be dead after five missed checks, by default of 3 s each."""


@dataclass
class Cluster:
    """Where a driver finds it, and the processes that make it."""

    address: str
    variables: Mapping[str, str]
    scratch: Path
    nodes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def join(self, cpus: int, *prefix: str) -> "subprocess.Popen[bytes]":
        """Add a node, started behind a prefix of words such as `unshare`."""
        command = [*prefix, *RAY, "start", "--block", f"--address={self.address}", f"--num-cpus={cpus}"]
        self.nodes.append(_started([*command, "--node-ip-address=127.0.0.1"], self.variables))
        return self.nodes[-1]

    def wait_for(self, cpus: float) -> None:
        """Wait until its nodes offer so many processors: a killed one does so until its heartbeats are missed."""
        code = WAIT.format(address=self.address, cpus=cpus)
        environment = {**os.environ, **self.variables}
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, timeout=120)


@contextmanager
def cluster(cpus: int) -> Iterator[Cluster]:
    """Start a head of so many processors; every process ends with the test."""
    scratch = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # its sockets' paths are short
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {**NOT_OURS, **SOON_DEAD, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    made = Cluster(f"127.0.0.1:{port}", variables, scratch)
    head = [*RAY, "start", "--head", "--block", f"--port={port}", f"--num-cpus={cpus}"]
    head += ["--node-ip-address=127.0.0.1", "--include-dashboard=false", f"--temp-dir={scratch}"]
    try:
        made.nodes.append(_started(head, variables))
        until = time.monotonic() + 120
        while not _listens(port) and time.monotonic() < until:
            time.sleep(0.2)
        yield made
    finally:
        for node in made.nodes:
            kill(node)
        shutil.rmtree(scratch, ignore_errors=True)


def kill(node: "subprocess.Popen[bytes]") -> None:
    """Kill a node with every process of it at once."""
    for process in [node.pid, *(below for below, _ in descendants(node.pid))]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    node.wait()


def _started(command: list[str], variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, **variables}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
