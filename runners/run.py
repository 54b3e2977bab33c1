"""The driver: one process that holds the ledger, gives work to an engine and writes down what comes back."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

from configuration.experiment import Experiment
from foundation.atomic_files import disk_refusals
from foundation.environment import machine, manifest
from foundation.errors import ConflictError, CorruptionError
from foundation.schema import JsonValue, canonical_text
from ledger.amendments import amend
from ledger.artifacts import ArtifactStore
from ledger.contamination import refuse_leakage
from ledger.csv_export import has_export
from ledger.database import LEDGER_NAME, Ledger
from ledger.paths import ResultPaths
from ledger.sessions import Stopwatch
from ledger.snapshot import Snapshot, snapshot
from runners.dag import all_labels, shared_stages
from runners.executors import Executor, open_executor
from runners.executors.local import LocalExecutor
from runners.scheduling.course import Course
from runners.scheduling.groundwork import Groundwork
from runners.search.next_arms import importance_of_axes
from runners.stages.stage import THREADS
from runners.work_queue import WorkQueue
from tasks.data_folder import with_paths_as_in

OnProgress = Callable[[WorkQueue], None]
"""Called a few times a second with what is being done, for the eye alone."""


@dataclass(frozen=True)
class RunRequest:
    """What is to be run, where, and on what."""

    experiment: Experiment
    scale: str
    places: ResultPaths
    engine: str = "local"
    workers: int = 2
    address: str | None = None
    """A Ray cluster's address; None starts Ray on this machine."""
    command: str = ""
    """The command line that asks for this, for the report."""


def run(request: RunRequest, watch: OnProgress) -> Snapshot:
    """Run an experiment to its end, or carry on where it stands, and return what the ledger then holds.

    Raises a Refusal where the request, the data or the machine is at fault; all finished work is kept.
    """
    shared = shared_stages(request.experiment)  # data that is missing is refused before a folder is made
    with open_ledger(request) as ledger:
        store = ArtifactStore(request.places.stages)
        with timed(ledger, request, watch) as watched:
            groundwork = Groundwork(shared.named(), store, ledger)
            with LocalExecutor(store.root, request.workers) as local, watched(groundwork) as glance:
                local.run(groundwork, glance)
            refuse_leakage(request.experiment, ledger.records())
            course = Course(request.experiment, shared, store, ledger)
            with engine_of(request) as engine, watched(course) as glance:
                engine.run(course, glance)
        found = snapshot(ledger)
        if request.experiment.search is not None and not found.failed:  # a failed trial is tried again
            ledger.set_fact("importance", importance_of_axes(request.experiment, ledger))
            found = snapshot(ledger)
        return found


Watched = Callable[[WorkQueue], AbstractContextManager[Callable[[], None]]]


@contextmanager
def timed(ledger: Ledger, request: RunRequest, watch: OnProgress) -> Iterator[Watched]:
    """Write how long this process computes, and give what shows an agenda before, during and after its work."""
    stopwatch = Stopwatch(ledger, request.command, {**machine(), "threads": THREADS})

    @contextmanager
    def watched(agenda: WorkQueue) -> Iterator[Callable[[], None]]:
        def glance() -> None:
            if any(not record.reused for record in agenda.recorded):
                stopwatch.begin()
            watch(agenda)

        watch(agenda)
        yield glance
        glance()

    try:
        yield watched
    finally:
        stopwatch.end()


@contextmanager
def open_ledger(request: RunRequest) -> Iterator[Ledger]:
    """Hold the results folder and give its ledger, which must belong to this experiment. Raises ConflictError."""
    _refuse_lost_ledger(request.places)
    request.places.make()
    with request.places.held(), closing(Ledger(request.places.folder / LEDGER_NAME)) as ledger:
        experiment = request.experiment
        identity, known = experiment.identity(), ledger.fact("identity")
        if known is None:
            with ledger.together():
                ledger.set_fact("experiment", experiment.experiment)
                ledger.set_fact("scale", request.scale)
                ledger.set_fact("labels", [*all_labels(experiment)])
                ledger.set_fact("document", experiment.model_dump(mode="json"))
                ledger.set_fact("manifest", manifest())
                ledger.set_fact("impossible", [[one.name, *one.reasons] for one in experiment.roster.impossible])
                ledger.set_fact("identity", identity)
        elif not amend(ledger, experiment):
            raise ConflictError(_conflict(request, known, identity))
        yield ledger


def _refuse_lost_ledger(places: ResultPaths) -> None:
    """Refuse to begin a ledger where an emptied one lies beside results, or only the export of one."""
    path = places.folder / LEDGER_NAME
    with disk_refusals(path):
        size = path.stat().st_size if path.is_file() else None
        remains = places.remains if size == 0 else ()
    if remains:
        advice = "restore it, or move it away to begin a new one over the stages that are kept"
        raise CorruptionError(f"{path}: is empty, but {remains[0]} is beside it; {advice}")
    if size is None and has_export(places.folder):
        raise ConflictError(f"{places.folder}: holds a published report. Did you mean another --out folder?")


def engine_of(request: RunRequest) -> Executor:
    """Return the engine that the request names."""
    return open_executor(request.engine, request.places.stages, request.workers, request.address)


def _conflict(request: RunRequest, known: JsonValue, wanted: JsonValue) -> list[str]:
    differing = _differences("", with_paths_as_in(known, wanted), wanted)
    lines = [f"{request.places.folder}: holds another experiment's results; nothing was changed. What differs:"]
    lines += [f"  {path}: {before} there, {after} here" for path, before, after in differing]
    return [*lines, "Did you mean another --out folder?"]


def _differences(path: str, known: JsonValue, wanted: JsonValue) -> Iterator[tuple[str, str, str]]:
    if isinstance(known, dict) and isinstance(wanted, dict):
        for name in sorted(known.keys() | wanted.keys()):
            inner = f"{path}.{name}" if path else name
            yield from _differences(inner, known.get(name), wanted.get(name))
    elif known != wanted:
        yield path, _told(known), _told(wanted)


def _told(value: JsonValue) -> str:
    return "the default" if value is None else canonical_text(value)
