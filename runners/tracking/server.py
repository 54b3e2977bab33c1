"""MLflow's own pages on this machine: loopback only, one worker, no jobs."""

import os
import socket
import sys
from typing import NoReturn

from runners.tracking.environment import server_environment
from runners.tracking.outage import reason_of
from runners.tracking.store import TrackingStore
from runners.tracking.views import ARMS_VIEW, TAG_PREFIX
from search_space.refusals import EnvironmentRefused

HOST = "127.0.0.1"
FIRST_PORT = 5000  # MLflow's own
TRAINING_PAGE = "workflowType=machine_learning"  # the page opens on traces of language models otherwise
PORTS_TRIED = 100


def serve(store: TrackingStore, port: int | None, experiment: str | None = None) -> NoReturn:
    """Print the address, then become MLflow's server on the store. Ctrl-C ends it.

    `experiment` is the MLflow experiment (`table2-smoke`) whose page is named. Where the store is itself a
    server, its address is printed and nothing is started. Raises EnvironmentRefused where the port is taken.
    """
    store.prepare()
    if store.served:
        _say(f"{store.shown} is a tracking server already: open it in a browser")
        sys.exit(0)
    chosen = _port(port)
    _say(f"http://{HOST}:{chosen}{_page(store, experiment)} (Ctrl-C ends it)")
    command = _command(store, chosen)
    os.execvpe(command[0], command, server_environment(os.environ, store.uri))


def _command(store: TrackingStore, port: int) -> list[str]:
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    return [*command, "--no-serve-artifacts", "--default-artifact-root", str(store.artifacts)]


def _page(store: TrackingStore, experiment: str | None) -> str:
    from runners.tracking.door import Door  # two seconds of import

    try:
        known = Door(store.uri).known_experiment(experiment) if experiment else None
    except Exception as error:
        raise EnvironmentRefused(f"{store.shown}: {reason_of(error)}") from error
    if known is None:
        return f"/#/?{TRAINING_PAGE}"
    view = f"&viewStateShareKey={ARMS_VIEW}" if f"{TAG_PREFIX}{ARMS_VIEW}" in known.tags else ""
    return f"/#/experiments/{known.identifier}/runs?{TRAINING_PAGE}{view}"


def _port(wanted: int | None) -> int:
    candidates = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if wanted is None else (wanted,)
    for port in candidates:
        if _free(port):
            return port
    if wanted is None:
        raise EnvironmentRefused(f"no port from {candidates[0]} to {candidates[-1]} is free; name one with --port")
    free = next((port for port in range(wanted + 1, min(wanted + PORTS_TRIED, 65535)) if _free(port)), None)
    raise EnvironmentRefused(f"port {wanted} is taken{f'; {free} is free' if free else ''}")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server itself binds
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
