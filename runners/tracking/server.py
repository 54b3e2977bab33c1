"""MLflow's web pages on this machine: loopback only, one process, no jobs, quiet."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote

from runners.tracking.connectivity import not_reachable, reason_of, server_environment
from runners.tracking.mirrored_run import CHANGED_TAG, EXPERIMENT_TAG
from runners.tracking.saved_views import ARMS_VIEW, TAG_PREFIX, TRIALS_VIEW
from runners.tracking.store import TrackingStore
from steeplechase.foundation.errors import MachineError

if TYPE_CHECKING:
    from runners.tracking.mlflow_client import KnownExperiment

HOST = "127.0.0.1"
FIRST_PORT = 5000  # MLflow's own
PORTS_TRIED = 100
LINKS_SHOWN = 20
LOCK_SECONDS = 5.0
SECONDS_BETWEEN_TRIES = 0.1
SHUTDOWN_SECONDS = 1
TRAINING_PAGE = "workflowType=machine_learning"  # the page opens on traces of language models otherwise


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

    application = pages(store.uri, str(store.artifacts))
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


def addresses(store: TrackingStore, base: str, experiment: str | None) -> list[str]:
    """Return lines with the pages of the experiment, else of every experiment that was mirrored, newest first.

    Raises MachineError if the store does not answer.
    """
    from runners.tracking.mlflow_client import TrackingClient

    try:
        found = TrackingClient(store.uri).experiments()
    except Exception as error:
        raise MachineError(f"{store.shown}: {reason_of(error)}") from error
    known = sorted(
        (each for each in found if f"{TAG_PREFIX}{ARMS_VIEW}" in each.tags),
        key=lambda each: -int(each.tags.get(CHANGED_TAG, "0")),
    )
    for each in known:
        if each.name == experiment:
            curves = f"{_address(each, TRIALS_VIEW)}&compareRunsMode=CHART"
            return [
                f"{experiment}, arms: {base}/#{_address(each, ARMS_VIEW)}",
                f"{experiment}, curves: {base}/#{curves}",
            ]
    lines = [f"{each.name}: {base}/#{_address(each, ARMS_VIEW)}" for each in known[:LINKS_SHOWN]]
    lines += [f"{title}: {base}/#{_comparison(members)}" for title, members in _across(known[:LINKS_SHOWN])]
    return [*lines, f"all experiments: {base}/#/experiments?{TRAINING_PAGE}"]


def _comparison(experiments: Sequence[str]) -> str:
    """Return the address of MLflow's page of several experiments."""
    listed = quote(json.dumps(sorted(experiments), separators=(",", ":")))
    return f"/compare-experiments/s?experiments={listed}&{TRAINING_PAGE}"


def _address(known: "KnownExperiment", view: str) -> str:
    return f"/experiments/{known.identifier}/runs?{TRAINING_PAGE}&viewStateShareKey={view}"


def _across(known: Sequence["KnownExperiment"]) -> Iterator[tuple[str, list[str]]]:
    """Yield title and experiments of each page that compares the scales of one experiment, then of all."""
    by_experiment: dict[str, list[str]] = {}
    for each in known:
        by_experiment.setdefault(each.tags.get(EXPERIMENT_TAG, each.name), []).append(each.identifier)
    groups = {f"{name}, {len(members)} scales": members for name, members in by_experiment.items()}
    if len(groups) > 1:
        groups[f"arms of {len(known)} experiments"] = [each.identifier for each in known]
    yield from ((title, members) for title, members in groups.items() if len(members) > 1)


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
