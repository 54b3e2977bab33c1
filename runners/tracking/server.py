"""MLflow's web pages on this machine: loopback only, one process, no jobs, quiet."""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

from runners.tracking.connectivity import not_reachable
from runners.tracking.environment import server_environment
from runners.tracking.errors import reason_of
from runners.tracking.mirrored_run import CHANGED_TAG, EXPERIMENT_TAG
from runners.tracking.saved_views import ARMS_VIEW, TAG_PREFIX, TRIALS_VIEW, page_across, view_across
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
FIRST_SETTINGS = {
    "mlflow.workflowType_v1": '"machine_learning"',  # a click on an experiment then opens its runs, not traces
    "mlflow.telemetry.info.alert.dismissed_v1": "true",  # telemetry is disabled here in spite of the banner
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true",  # hides the chat panel
}
"""Initial settings for browsers without any; MLflow stores them in the browser only."""


@dataclass(frozen=True)
class Pages:
    """Pages of a store's studies: what is printed, what opens first, and what the browser is to keep."""

    lines: tuple[str, ...]
    landing: str
    """Address of the first page, after the `#`."""
    settings: Mapping[str, str]


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
    shown = pages_of(store, base, experiment)
    sys.stderr.write("starting MLflow\n")
    environment = server_environment(os.environ, chosen)
    os.environ.clear()
    os.environ.update(environment)
    Thread(target=_announce, args=(base, [f"open {base}", *shown.lines, "(Ctrl-C ends it)"]), daemon=True).start()
    with suppress(KeyboardInterrupt):
        _run(store, chosen, shown)
    sys.exit(0)


def _run(store: TrackingStore, port: int, shown: Pages) -> None:
    import uvicorn  # MLflow's server; a second of import

    from runners.tracking.mlflow_client import pages

    application = pages(store.uri, str(store.artifacts), shown.settings, shown.landing)
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


def pages_of(store: TrackingStore, base: str, experiment: str | None) -> Pages:
    """Return the pages of the experiment, else of every experiment that was mirrored, newest first."""
    from runners.tracking.mlflow_client import TrackingClient

    try:
        found = TrackingClient(store.uri).experiments()
    except Exception as error:
        raise MachineError(f"{store.shown}: {reason_of(error)}") from error
    known = sorted(
        (each for each in found if f"{TAG_PREFIX}{ARMS_VIEW}" in each.tags),
        key=lambda each: -int(each.tags.get(CHANGED_TAG, "0")),
    )
    named = [each for each in known if each.name == experiment]
    across = dict(_across(known[:LINKS_SHOWN]))
    settings = FIRST_SETTINGS | dict(view_across(members) for members in across.values())
    if named:
        arms = _address(named[0], ARMS_VIEW)
        curves = f"{_address(named[0], TRIALS_VIEW)}&compareRunsMode=CHART"
        return Pages(
            (f"{experiment}, arms: {base}/#{arms}", f"{experiment}, curves: {base}/#{curves}"), arms, settings
        )
    lines = [f"{each.name}: {base}/#{_address(each, ARMS_VIEW)}" for each in known[:LINKS_SHOWN]]
    lines += [f"{title}: {base}{page_across(members)}" for title, members in across.items()]
    everything = f"/experiments?{TRAINING_PAGE}"
    landing = _address(known[0], ARMS_VIEW) if known else everything
    return Pages((*lines, f"all experiments: {base}/#{everything}"), landing, settings)


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
