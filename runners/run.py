"""The run loop: ask the scheduler, write down what is decided, execute stages, write down their results."""

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
from ledger.csv_export import has_export
from ledger.database import LEDGER_NAME, Ledger
from ledger.paths import ResultPaths
from ledger.sessions import Stopwatch
from ledger.snapshot import Snapshot, snapshot
from runners.dag import all_labels, shared_stages
from runners.executors import Executor, open_executor
from runners.journal import Journal
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

    experiment: Experiment
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
    shared = shared_stages(request.experiment)  # data that is missing is refused before a folder is made
    with open_ledger(request) as ledger:
        journal = Journal(request.experiment, shared, ArtifactStore(request.places.stages), ledger)
        with timed(ledger, request, on_progress) as watched, executor_of(request) as executor:
            run_stages(journal, executor, watched)
        found = snapshot(ledger)
        if request.experiment.search is not None and not found.failed:  # a failed trial is tried again
            ledger.set_fact("importance", importance_of_axes(request.experiment, ledger))
            found = snapshot(ledger)
        return found


@contextmanager
def unwatched(progress: RunProgress) -> Iterator[Callable[[], None]]:
    """Show nothing."""
    yield lambda: None


def run_stages(journal: Journal, executor: Executor, watched: Watched = unwatched) -> None:
    """Run the stages that all trials share, then trials until nothing follows from what the ledger holds."""
    journal.find_shared()
    with watched(journal.shared) as glance:
        while journal.state.shared_missing:
            advance(journal, executor, glance)
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


def executor_of(request: RunRequest) -> Executor:
    """Return the executor that the request names."""
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
