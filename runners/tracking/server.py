"""MLflow's web pages on this machine: loopback only, one process, no jobs, quiet."""

import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import NoReturn

from foundation.errors import MachineError
from runners.tracking.connectivity import not_reachable
from runners.tracking.environment import server_environment
from runners.tracking.errors import reason_of
from runners.tracking.saved_views import ARMS_VIEW, TAG_PREFIX, TRIALS_VIEW
from runners.tracking.store import TrackingStore

HOST = "127.0.0.1"
FIRST_PORT = 5000  # MLflow's own
PORTS_TRIED = 100
LINKS_SHOWN = 20
LOCK_SECONDS = 5.0
SECONDS_BETWEEN_TRIES = 0.1
SHUTDOWN_SECONDS = 1
TRAINING_PAGE = "workflowType=machine_learning"  # the page opens on traces of language models otherwise
FIRST_SETTINGS = {
    "mlflow.workflowType_v1": '"machine_learning"',  # a click on an experiment then opens its runs, not traces
    "mlflow.telemetry.info.alert.dismissed_v1": "true",  # telemetry is disabled here in spite of the banner
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true",  # hides the chat panel
}
"""Initial settings for browsers without any; MLflow stores them in the browser only."""


def serve(store: TrackingStore, port: int | None, experiment: str | None = None) -> NoReturn:
    """Run MLflow's server on the store, and print the addresses once they respond. Ctrl-C ends it.

    `experiment` is the MLflow experiment (`table2-smoke`) to link, by default the newest ones. If the store is itself
    a server, its address is printed and nothing is started. Raises MachineError if the port is taken.
    """
    store.prepare(LOCK_SECONDS)
    if store.served:
        _print([f"{store.shown} is a tracking server already: open it in a browser"])
        sys.exit(0)
    chosen = _port(port)
    base = f"http://{HOST}:{chosen}"
    addresses = links(store, base, experiment)
    sys.stderr.write("starting MLflow\n")
    environment = server_environment(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    Thread(target=_announce, args=(base, [*addresses, "(Ctrl-C ends it)"]), daemon=True).start()
    with suppress(KeyboardInterrupt):
        _run(store, chosen)
    sys.exit(0)


def _run(store: TrackingStore, port: int) -> None:
    import uvicorn  # MLflow's server; a second of import

    from runners.tracking.mlflow_client import pages

    application = pages(store.uri, str(store.artifacts), FIRST_SETTINGS)
    uvicorn.run(
        application,
        host=HOST,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def _announce(base: str, lines: Sequence[str]) -> None:
    while not_reachable(base, served=True):
        time.sleep(SECONDS_BETWEEN_TRIES)
    _print(lines)


def links(store: TrackingStore, base: str, experiment: str | None) -> list[str]:
    """Return a line per page: two of the experiment, else one of each experiment that was mirrored, newest first."""
    from runners.tracking.mlflow_client import TrackingClient

    try:
        known = [each for each in TrackingClient(store.uri).experiments() if f"{TAG_PREFIX}{ARMS_VIEW}" in each.tags]
    except Exception as error:
        raise MachineError(f"{store.shown}: {reason_of(error)}") from error
    for each in known:
        if each.name == experiment:
            page = f"{base}/#/experiments/{each.identifier}/runs?{TRAINING_PAGE}"
            curves = f"{page}&compareRunsMode=CHART&viewStateShareKey={TRIALS_VIEW}"
            return [f"{each.name}, arms: {page}&viewStateShareKey={ARMS_VIEW}", f"{each.name}, curves: {curves}"]
    arms = f"/runs?{TRAINING_PAGE}&viewStateShareKey={ARMS_VIEW}"
    lines = [f"{each.name}: {base}/#/experiments/{each.identifier}{arms}" for each in known[:LINKS_SHOWN]]
    return [*lines, f"all experiments: {base}/#/experiments?{TRAINING_PAGE}"]


def _port(wanted: int | None) -> int:
    candidates = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if wanted is None else (wanted,)
    for port in candidates:
        if _free(port):
            return port
    if wanted is None:
        raise MachineError(f"no port from {candidates[0]} to {candidates[-1]} is free; name one with --port")
    free = next((port for port in range(wanted + 1, min(wanted + PORTS_TRIED, 65535)) if _free(port)), None)
    raise MachineError(f"port {wanted} is taken{f'; {free} is free' if free else ''}")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server itself binds
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _print(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
