"""The driver: one process that holds the ledger, gives work to an engine and writes down what comes back."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

from configuration.experiment import Experiment
from configuration.experiment_files import AnyExperiment
from configuration.latency import LatencyExperiment
from foundation.atomic_files import disk_refusals
from foundation.differences import differences
from foundation.environment import machine, manifest
from foundation.errors import ConflictError, CorruptionError
from foundation.schema import JsonValue
from ledger.amendments import amend
from ledger.artifacts import ArtifactStore
from ledger.contamination import refuse_leakage
from ledger.csv_export import has_export
from ledger.database import LEDGER_NAME, Ledger
from ledger.paths import ResultPaths
from ledger.reading import refuse_former_timings
from ledger.sessions import Stopwatch
from ledger.snapshot import Snapshot, snapshot
from runners.dag import all_labels, shared_stages
from runners.executors import Executor, open_executor
from runners.executors.local import LocalExecutor
from runners.latency_stages import latency_stages, refuse_another_machine
from runners.scheduling.course import Course
from runners.scheduling.groundwork import Groundwork
from runners.search.next_arms import importance_of_axes
from runners.stages.stage import THREADS
from runners.work_queue import WorkQueue

OnProgress = Callable[[WorkQueue], None]
"""Called a few times a second with what is being done, for the eye alone."""


@dataclass(frozen=True)
class RunRequest:
    """What is to be run, where, and on what."""

    experiment: AnyExperiment
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

    Raises a UserError where the request, the data or the machine is at fault; all finished work is kept.
    """
    if isinstance(request.experiment, LatencyExperiment):
        return _run_latency(request.experiment, request, watch)
    return _run_training(request.experiment, request, watch)


def _run_latency(experiment: LatencyExperiment, request: RunRequest, watch: OnProgress) -> Snapshot:
    """Time every length that has not been timed, in one worker with nothing beside it."""
    from runners.stages.latency import this_machine  # torch, which a run that trains has in its workers alone

    here = this_machine(experiment.timing.device)  # a device that is missing is refused before a folder is made
    stages = latency_stages(experiment, here)
    with open_ledger(request) as ledger:
        refuse_another_machine(ledger, here)
        store = ArtifactStore(request.places.stages)
        with timed(ledger, request, watch) as watched:
            groundwork = Groundwork(stages, store, ledger)
            with LocalExecutor(store.root, 1) as local, watched(groundwork) as glance:
                local.run(groundwork, glance)
        return snapshot(ledger)


def _run_training(experiment: Experiment, request: RunRequest, watch: OnProgress) -> Snapshot:
    shared = shared_stages(experiment)  # data that is missing is refused before a folder is made
    with open_ledger(request) as ledger:
        store = ArtifactStore(request.places.stages)
        with timed(ledger, request, watch) as watched:
            groundwork = Groundwork(shared.named(), store, ledger)
            with LocalExecutor(store.root, request.workers) as local, watched(groundwork) as glance:
                local.run(groundwork, glance)
            refuse_leakage(experiment, ledger.records())
            course = Course(experiment, shared, store, ledger)
            with engine_of(request) as engine, watched(course) as glance:
                engine.run(course, glance)
        found = snapshot(ledger)
        if experiment.search is not None and not found.failed:  # a failed trial is tried again
            ledger.set_fact("importance", importance_of_axes(experiment, ledger))
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
    refuse_former_timings(request.places.folder)
    _refuse_lost_ledger(request.places)
    request.places.make()
    with request.places.held(), closing(Ledger(request.places.folder / LEDGER_NAME)) as ledger:
        experiment = request.experiment
        identity, known = experiment.identity(), ledger.fact("identity")
        if known is None:
            with ledger.together():
                ledger.set_fact("experiment", experiment.experiment)
                ledger.set_fact("scale", request.scale)
                ledger.set_fact("labels", [*_trial_labels(experiment)])
                ledger.set_fact("document", experiment.model_dump(mode="json"))
                ledger.set_fact("manifest", manifest())
                ledger.set_fact("impossible", experiment.impossible_points)
                ledger.set_fact("identity", identity)
        elif not amend(ledger, experiment):
            raise ConflictError(_conflict(request, known, identity))
        yield ledger


def _trial_labels(experiment: AnyExperiment) -> tuple[str, ...]:
    """Return the stages that a trial goes through; the stages of a latency experiment belong to no trial."""
    return () if isinstance(experiment, LatencyExperiment) else all_labels(experiment)


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
    lines = [f"{request.places.folder}: holds another experiment's results; nothing was changed. What differs:"]
    lines += [f"  {line}" for line in differences(known, wanted)]
    return [*lines, "Did you mean another --out folder?"]
