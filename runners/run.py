"""The run loop: ask the scheduler, write down what is decided, execute stages, write down their results."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.loading import AnyExperiment
from foundation.atomic_files import disk_refusals
from foundation.environment import machine, manifest
from foundation.errors import ConflictError, CorruptionError
from foundation.schema import JsonValue
from ledger.amendments import amend
from ledger.artifacts import ArtifactStore
from ledger.csv_export import has_export
from ledger.database import LEDGER_NAME, Ledger
from ledger.paths import ResultPaths
from ledger.reading import refuse_former_timings
from ledger.sessions import Stopwatch
from ledger.snapshot import Snapshot, snapshot
from runners.dag import SharedStages, all_labels, shared_stages
from runners.differences import differences
from runners.executors import Executor, open_executor
from runners.journal import Journal
from runners.latency_stages import LatencyStages, latency_stages, refuse_another_machine
from runners.run_progress import RunProgress
from runners.search.next_arms import importance_of_axes
from runners.stages.stage import THREADS
from runners.work_queue import StageTask
from tasks.data_folder import with_paths_as_in

OnProgress = Callable[[RunProgress], None]
"""Called a few times a second with what is being done, for the eye alone."""

Watched = Callable[[RunProgress], AbstractContextManager[Callable[[], None]]]
"""Shows a part of a run before and after it, and gives what shows it in between."""


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


def run(request: RunRequest, on_progress: OnProgress) -> Snapshot:
    """Run an experiment to its end, or carry on where its ledger ends, and return what the ledger then holds.

    Raises a UserError where the request, the data or the machine is at fault; all finished work is kept.
    """
    experiment = request.experiment
    shared = _shared_stages(experiment)  # data or a device that is missing is refused before a folder is made
    with open_ledger(request) as ledger:
        if isinstance(shared, LatencyStages):
            refuse_another_machine(ledger, shared.machine)
        journal = Journal(experiment, shared, ArtifactStore(request.places.stages), ledger)
        with timed(ledger, request, on_progress) as watched, executor_of(request) as executor:
            run_stages(journal, executor, watched)
        found = snapshot(ledger)
        # a failed trial is tried again, and what it brings belongs to the importance
        if isinstance(experiment, Experiment) and experiment.search is not None and not found.failed:
            ledger.set_fact("importance", importance_of_axes(experiment, ledger))
            found = snapshot(ledger)
        return found


def _shared_stages(experiment: AnyExperiment) -> SharedStages | LatencyStages:
    """Return the stages of no trial: what trials read, or every stage of a latency experiment."""
    if isinstance(experiment, LatencyExperiment):
        from runners.stages.latency import this_machine  # torch, which a run that trains has in its workers alone

        return latency_stages(experiment, this_machine(experiment.timing.device))
    return shared_stages(experiment)


@contextmanager
def unwatched(progress: RunProgress) -> Iterator[Callable[[], None]]:
    """Show nothing."""
    yield lambda: None


def run_stages(journal: Journal, executor: Executor, watched: Watched = unwatched) -> None:
    """Run the stages that belong to no trial, then trials until nothing follows from what the ledger holds."""
    journal.find_shared()
    with watched(journal.shared) as glance:
        while journal.state.shared_missing:
            advance(journal, executor, glance)
    if not journal.state.has_trials:
        return
    journal.settle()  # the first cohort is there when trials are shown
    with watched(journal.trials) as glance:
        while advance(journal, executor, glance):
            pass


def advance(journal: Journal, executor: Executor, glance: Callable[[], None]) -> bool:
    """Start what may run, wait for a moment and record what has ended; return False where nothing is left to run."""
    reused: str | None = None
    while (task := _next_task(journal, executor, reused)) is not None:
        if task.trial is not None and journal.reuse(task):
            reused = task.trial
        else:
            executor.start(task, journal.start(task))
            reused = None
    if not journal.started and not journal.settle().ready:
        return False
    for ended, end in executor.finished():
        journal.finish(ended, end)
    glance()
    return True


def _next_task(journal: Journal, executor: Executor, reused: str | None) -> StageTask | None:
    """Return the first task that may run and for which there is a worker, once all that is decided is written.

    After a stored result the same trial goes on, then those behind it: one pass takes in all that is stored.
    """
    ready = journal.settle().ready
    found = [task for task in ready if task.place not in journal.started and executor.accepts(task)]
    behind = journal.state.names_from(reused) if reused and found else ()
    return next((task for task in found if task.trial in behind), next(iter(found), None))


@contextmanager
def timed(ledger: Ledger, request: RunRequest, on_progress: OnProgress) -> Iterator[Watched]:
    """Write how long this process computes, and give what shows a part of a run before, during and after it."""
    stopwatch = Stopwatch(ledger, request.command, {**machine(), "threads": THREADS})

    @contextmanager
    def watched(progress: RunProgress) -> Iterator[Callable[[], None]]:
        def glance() -> None:
            if any(not record.reused for record in progress.recorded):
                stopwatch.begin()
            on_progress(progress)

        on_progress(progress)
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
    with request.places.locked(), closing(Ledger(request.places.folder / LEDGER_NAME)) as ledger:
        experiment = request.experiment
        identity, known = experiment.identity(), ledger.fact("identity")
        if known is None:
            with ledger.transaction():
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
        remains = places.leftovers if size == 0 else ()
    if remains:
        advice = "restore it, or move it away to begin a new one over the stages that are kept"
        raise CorruptionError(f"{path}: is empty, but {remains[0]} is beside it; {advice}")
    if size is None and has_export(places.folder):
        raise ConflictError(f"{places.folder}: holds a published report. Did you mean another --out folder?")


def executor_of(request: RunRequest) -> Executor:
    """Return the executor that the request names."""
    return open_executor(request.engine, request.places.stages, request.workers, request.address)


def _conflict(request: RunRequest, known: JsonValue, wanted: JsonValue) -> list[str]:
    lines = [f"{request.places.folder}: holds another experiment's results; nothing was changed. What differs:"]
    lines += [f"  {line}" for line in differences(with_paths_as_in(known, wanted), wanted)]
    return [*lines, "Did you mean another --out folder?"]
