"""The server of a tracking store: on loopback alone, in its own environment, ended by an interrupt."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from runners.tracking import TrackingStore, serve
from runners.tracking.connectivity import ENFORCED, server_environment
from steeplechase.foundation.errors import MachineError
from tests.factories.paths import ROOT

SERVER = "from pathlib import Path; import sys; from runners.tracking import TrackingStore, serve; "
SERVE_IT = f"{SERVER}serve(TrackingStore.resolve(Path(sys.argv[1]), None, {{}}), int(sys.argv[2]), 'table2-laptop')"


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


def test_a_server_ignores_the_users_settings() -> None:
    from mlflow.server.security_utils import is_allowed_host_header

    given = {"MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE": "true", "MLFLOW_HOST": "0.0.0.0", "PATH": "/bin"}
    environment = server_environment(given, 5001)
    assert environment.keys() - ENFORCED.keys() == {"PATH", "MLFLOW_SERVER_ALLOWED_HOSTS"}
    assert environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"
    allowed = environment["MLFLOW_SERVER_ALLOWED_HOSTS"].split(",")
    assert is_allowed_host_header(allowed, "localhost:5001")
    assert not any(is_allowed_host_header(allowed, host) for host in ("localhost:5001.evil.com", "localhost:1"))


def test_a_taken_port_is_refused_with_a_free_one(mirrored_results: Path, silent_port: int) -> None:
    with pytest.raises(MachineError, match=rf"port {silent_port} is taken; \d+ is free"):
        serve(TrackingStore.resolve(mirrored_results, None, {}), silent_port, "table2-laptop")


def test_the_server_answers_on_loopback_and_ends_on_interrupt(mirrored_results: Path, closed_port: int) -> None:
    command = [sys.executable, "-c", SERVE_IT, str(mirrored_results), str(closed_port)]
    server = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert server.stdout
        assert server.stderr
        base = f"http://127.0.0.1:{closed_port}"
        arms, curves = server.stdout.readline(), server.stdout.readline()
        assert arms.startswith(f"table2-laptop, arms: {base}/#/experiments/1/runs?workflowType=machine_learning")
        assert curves.startswith(f"table2-laptop, curves: {base}/#/experiments/1/runs?workflowType=machine_learning")
        assert _status(f"{base}/health") == HTTPStatus.OK  # it answers as soon as its address is there
        assert _status(base, {"Host": "elsewhere.example"}) == HTTPStatus.FORBIDDEN
        os.killpg(server.pid, signal.SIGINT)  # as a terminal does
        assert server.wait(60) == 0
        assert server.stderr.read() == "starting MLflow\n"  # and no request
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)


def _status(url: str, headers: Mapping[str, str] | None = None) -> int:
    try:
        with urlopen(Request(url, headers=dict(headers or {})), timeout=60) as answer:
            return int(answer.status)
    except HTTPError as refused:
        return refused.code
