"""MLflow's web pages on this machine: loopback only, one process, no jobs, quiet."""

import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import NoReturn
from urllib.parse import quote, urlencode

from runners.tracking.connectivity import not_reachable, reason_of, server_environment
from runners.tracking.measurements import HELD_OUT_LOSS
from runners.tracking.store import TrackingStore
from steeplechase.foundation.errors import MachineError

HOST = "127.0.0.1"
FIRST_PORT = 5000  # MLflow's own
PORTS_TRIED = 100
LINKS_SHOWN = 20
LOCK_SECONDS = 5.0
SECONDS_BETWEEN_TRIES = 0.1
SHUTDOWN_SECONDS = 1
TRAINING_PAGE = "workflowType=machine_learning"  # the page opens on traces of language models otherwise
SORTED = urlencode({"orderByKey": f"metrics.`{HELD_OUT_LOSS}`", "orderByAsc": "true"}, quote_via=quote)
DEFAULT_EXPERIMENT = "0"  # which MLflow makes, and no study uses


def serve(store: TrackingStore, port: int | None, experiment: str | None = None) -> NoReturn:
    """Run MLflow's server on the store, and print the addresses once they respond. Ctrl-C ends it.

    `experiment` is the MLflow experiment (`table2-smoke`) to open, by default the newest one. If the store is itself
    a server, its address is printed and nothing is started. Raises MachineError if the port is taken.
    """
    store.prepare(LOCK_SECONDS)
    if store.served:
        _print([f"{store.shown} is a tracking server already: open it in a browser"])
        sys.exit(0)
    chosen = _port(port)
    base = f"http://{HOST}:{chosen}"
    lines = addresses(store, base, experiment)
    sys.stderr.write("starting MLflow\n")
    environment = server_environment(os.environ, chosen)
    os.environ.clear()
    os.environ.update(environment)
    Thread(target=_announce, args=(base, [*lines, "(Ctrl-C ends it)"]), daemon=True).start()
    with suppress(KeyboardInterrupt):
        _run(store, chosen)
    sys.exit(0)


def _run(store: TrackingStore, port: int) -> None:
    import uvicorn  # MLflow's server; a second of import

    from runners.tracking.mlflow_client import pages

    application = pages(store.uri, str(store.results_root / "artifacts"))
    uvicorn.run(
        application,
        host=HOST,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def _announce(base: str, lines: Sequence[str]) -> None:
    while not_reachable(base):
        time.sleep(SECONDS_BETWEEN_TRIES)
    _print(lines)


def addresses(store: TrackingStore, base: str, experiment: str | None) -> list[str]:
    """Return lines with the pages of the experiment, else of the experiments, newest first."""
    from runners.tracking.mlflow_client import TrackingClient

    try:
        found = TrackingClient(store.uri).experiments()
    except Exception as error:
        raise MachineError(f"{store.shown}: {reason_of(error)}") from error
    if experiment in found:
        page = f"{base}/#/experiments/{found[experiment]}/runs?{TRAINING_PAGE}"
        return [
            f"{experiment}, arms: {page}&{_filtered('arm')}&{SORTED}",
            f"{experiment}, curves: {page}&{_filtered('trial')}&compareRunsMode=CHART",
        ]
    lines = [
        f"{name}: {base}/#/experiments/{identifier}/runs?{TRAINING_PAGE}&{_filtered('arm')}&{SORTED}"
        for name, identifier in [*found.items()][:LINKS_SHOWN]
        if identifier != DEFAULT_EXPERIMENT
    ]
    return [*lines, f"all experiments: {base}/#/experiments?{TRAINING_PAGE}"]


def _filtered(level: str) -> str:
    return urlencode({"searchFilter": f'tags.level = "{level}"'}, quote_via=quote)


def _port(wanted: int | None) -> int:
    candidates = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if wanted is None else (wanted,)
    for port in candidates:
        if _free(port):
            return port
    taken = f"ports {FIRST_PORT} to {candidates[-1]} are" if wanted is None else f"port {wanted} is"
    raise MachineError(f"{taken} taken; name another one with --port")


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
