"""The run loop: ask the scheduler for the next step, record its decisions, execute stages, record their results."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.loading import AnyExperiment
from configuration.plugin_folders import COPIES, copy_plugins
from configuration.plugin_options import OPTIONS, recorded_options
from foundation.atomic_files import disk_refusals
from foundation.environment import machine, manifest
from foundation.errors import ConflictError, CorruptionError, StoppedError, UserError
from foundation.schema import JsonValue
from ledger.amendments import amend
from ledger.database import LEDGER_NAME, Ledger
from ledger.database_file import killed_while_created
from ledger.object_store import refuse_url
from ledger.paths import ResultPaths, has_export
from ledger.reading import refuse_former_timings
from ledger.reuse import reuse
from ledger.reused_rows import reused_rows
from ledger.sessions import Stopwatch, sessions
from ledger.snapshot import PARENTS, Snapshot, snapshot
from runners.dag import SharedStages, shared_stages
from runners.differences import differences
from runners.executors import Executor, ExecutorSettings, open_executor
from runners.journal import Journal
from runners.latency_stages import LatencyStages, latency_stages, refuse_another_machine
from runners.limits import UNLIMITED, LimitReached, Limits
from runners.meter import LimitStop, Meter
from runners.run_progress import RunProgress
from runners.search.next_arms import importance_of_axes
from runners.stage_labels import all_labels
from runners.stage_watch import StageWatch
from runners.stages.stage import THREADS, this_driver
from runners.work_queue import StageTask
from tasks.data_folder import with_paths_as_in

INTERRUPTED, FAILED = "interrupted", "ended by an error"
"""How a session ends that neither a limit nor its last stage ends."""

OnProgress = Callable[[RunProgress], None]
"""Called several times a second with the progress of the run; for display only."""

ProgressReporter = Callable[[RunProgress], AbstractContextManager[Callable[[], None]]]
"""Context manager of one part of a run: reports before and after it, and yields the report in between."""


@dataclass(frozen=True)
class RunRequest:
    """An experiment to run, its results folder and its executor."""

    experiment: AnyExperiment
    scale: str
    paths: ResultPaths
    engine: str = "local"
    workers: int = 2
    address: str | None = None
    """A Ray cluster's address; None starts Ray on this machine."""
    command: str = ""
    """The command line of the request, for the report."""
    settings: tuple[str, ...] = ()
    """Values of the command line in place of the file's, for the manifest; they are part of `experiment`."""
    reuse: tuple[Path, ...] = ()
    """Results folders and published reports whose finished trials with the same keys are taken over."""
    gpus_per_trial: float | None = None
    """GPUs of a trial under Ray; None shares all of them between the workers."""
    limits: Limits = UNLIMITED
    """What the run may spend."""
    objects: str = ""
    """URL of an object store for the stages; empty for the results folder."""

    @property
    def executor_settings(self) -> ExecutorSettings:
        """Where trials run."""
        return ExecutorSettings(self.workers, self.address, self.gpus_per_trial, self.objects.rstrip("/"))


def run(request: RunRequest, on_progress: OnProgress) -> Snapshot:
    """Run an experiment, or resume it from its ledger; return a snapshot of the ledger at the end.

    Raises a UserError if the request, the data or the machine is at fault, and LimitReached with the snapshot if one
    of the request's limits ends it; finished stages are kept.
    """
    experiment, began = request.experiment, time.monotonic()
    shared = _shared_stages(experiment)  # missing data or a missing device raises before any folder is created
    with open_ledger(request) as ledger:
        if isinstance(shared, LatencyStages):
            refuse_another_machine(ledger, shared.machine)
        reuse(ledger, request.paths.folder, request.reuse, request.objects)
        reused = reused_rows(request.paths.folder, ledger)
        journal = Journal(experiment, shared, request.paths.store(request.objects), ledger, reused)
        meter = Meter(request.limits, journal, sessions(ledger), began)
        try:
            with timed(ledger, request, on_progress, meter) as reporter, _executor_of(request) as executor:
                run_stages(journal, executor, reporter, meter)
        except LimitStop as stop:
            raise LimitReached(stop.reason, snapshot(ledger)) from stop
        final = snapshot(ledger)
        # the importance includes failed trials, which the next run retries
        if isinstance(experiment, Experiment) and experiment.search is not None and not final.failed:
            ledger.set_fact("importance", importance_of_axes(experiment, ledger))
            if journal.state.race is not None and journal.state.race.parents:
                ledger.set_fact(PARENTS, {**journal.state.race.parents})
            final = snapshot(ledger)
        return final


def _shared_stages(experiment: AnyExperiment) -> SharedStages | LatencyStages:
    """Return the stages outside trials: the inputs of all trials, or every stage of a latency experiment."""
    if isinstance(experiment, LatencyExperiment):
        from runners.stages.latency import (
            this_machine,  # imports torch, which other runs import in their workers only
        )

        return latency_stages(experiment, this_machine(experiment.timing.device))
    return shared_stages(experiment)


@contextmanager
def no_progress_reports(progress: RunProgress) -> Iterator[Callable[[], None]]:
    """Report nothing."""
    yield lambda: None


def run_stages(
    journal: Journal,
    executor: Executor,
    reporter: ProgressReporter = no_progress_reports,
    meter: Meter | None = None,
) -> None:
    """Run the shared stages, then trials, until the scheduler has no further step. Raises LimitStop."""
    meter = meter or Meter(UNLIMITED, journal)
    watch = StageWatch(journal.store, this_driver(), meter.stage_seconds)
    journal.reuse_shared()
    with reporter(journal.shared_progress) as report:
        while journal.state.shared_pending:
            advance(journal, executor, meter, report, watch)
    if not journal.state.has_trials:
        return
    journal.decide_next()  # declares the first cohort before its progress is reported
    with reporter(journal.trial_progress) as report:
        while advance(journal, executor, meter, report, watch):
            pass


def advance(
    journal: Journal, executor: Executor, meter: Meter, report: Callable[[], None], watch: StageWatch
) -> bool:
    """Start the stages that may run, wait briefly, record those that ended; return False if none are left to run.

    Raises LimitStop.
    """
    reused: str | None = None
    while (task := _next_task(journal, executor, meter, reused)) is not None:
        if task.trial is not None and journal.reuse(task):
            reused = task.trial
        else:
            executor.start(task, journal.start(task))
            reused = None
    if not journal.started:
        if not (ready := journal.decide_next().ready):
            return False
        meter.check_remaining(ready)
    for task, outcome in executor.finished():
        journal.finish(task, watch.explained(task, outcome))
    watch.look(journal.started, journal.trial_progress.recorded, executor)
    meter.check()
    report()
    return True


def _next_task(journal: Journal, executor: Executor, meter: Meter, reused: str | None) -> StageTask | None:
    """Record all decisions; return the first task that may run, within the limits, and that the executor accepts.

    After a stored result the search continues at the same trial, so that one pass finds all stored results.
    """
    ready = journal.decide_next().ready
    waiting = [task for task in ready if task.task_id not in journal.started and executor.accepts(task)]
    startable = [task for task in waiting if meter.allows(task)]
    preferred = journal.state.names_from(reused) if reused and startable else ()
    return next((task for task in startable if task.trial in preferred), next(iter(startable), None))


@contextmanager
def timed(
    ledger: Ledger, request: RunRequest, on_progress: OnProgress, meter: Meter | None = None
) -> Iterator[ProgressReporter]:
    """Record the duration and the end of this process in the ledger; yield the progress reporter of a run's parts."""
    stopwatch = Stopwatch(ledger, request.command, {**machine(), "threads": THREADS})

    @contextmanager
    def reporter(progress: RunProgress) -> Iterator[Callable[[], None]]:
        def report() -> None:
            if any(not record.reused for record in progress.recorded):
                stopwatch.begin()
            on_progress(progress)

        on_progress(progress)
        yield report
        report()

    try:
        yield reporter
    except LimitStop as stop:
        stopwatch.stop(stop.reason, stop.unfinished_seconds)
        raise
    except UserError as error:
        how = INTERRUPTED if isinstance(error, StoppedError) else FAILED
        with suppress(UserError):  # of a full disk, the error itself is reported
            stopwatch.interrupt(how, 0.0 if meter is None else meter.running_seconds())
        raise
    finally:
        stopwatch.end()


@contextmanager
def open_ledger(request: RunRequest) -> Iterator[Ledger]:
    """Lock the results folder and open its ledger. Raises ConflictError if it belongs to another experiment."""
    refuse_former_timings(request.paths.folder)
    lost_ledger(request.paths)
    if request.objects:
        refuse_url(request.objects)
    request.paths.make()
    with _locked_ledger(request) as ledger:
        experiment = request.experiment
        copy_plugins(experiment.plugins, request.paths.root / COPIES)
        identity, known = experiment.identity(), ledger.fact("identity")
        if known is None:
            with ledger.transaction():
                ledger.set_fact("experiment", experiment.experiment)
                ledger.set_fact("scale", request.scale)
                ledger.set_fact("labels", [*_trial_labels(experiment)])
                ledger.set_fact("document", experiment.model_dump(mode="json"))
                _keep_plugin_options(ledger, experiment)
                ledger.set_fact("manifest", _manifest(request))
                ledger.set_fact("impossible", experiment.impossible_points)
                ledger.set_fact("identity", identity)
        elif not amend(ledger, experiment):
            raise ConflictError(_conflict(request, known, identity))
        elif OPTIONS not in ledger.facts():  # of an earlier version
            _keep_plugin_options(ledger, experiment)
        yield ledger


def _keep_plugin_options(ledger: Ledger, experiment: AnyExperiment) -> None:
    if (options := recorded_options(experiment)) is not None:
        ledger.set_fact(OPTIONS, options)


@contextmanager
def _locked_ledger(request: RunRequest) -> Iterator[Ledger]:
    path = request.paths.folder / LEDGER_NAME
    with request.paths.locked():
        request.paths.use_objects(request.objects, begun=path.exists())
        with closing(Ledger(path)) as ledger:
            yield ledger


def _manifest(request: RunRequest) -> dict[str, JsonValue]:
    return {**manifest(), **({"settings": [*request.settings]} if request.settings else {})}


def _trial_labels(experiment: AnyExperiment) -> tuple[str, ...]:
    """Return the labels of a trial's stages; a latency experiment has no trials."""
    return () if isinstance(experiment, LatencyExperiment) else all_labels(experiment)


def lost_ledger(paths: ResultPaths) -> str | None:
    """Return a warning if a folder has results but no ledger, because the run then starts with a new one.

    Raises CorruptionError if the ledger is empty although there are results, ConflictError if the folder has a
    published report, which holds the export of a ledger only.
    """
    path = paths.folder / LEDGER_NAME
    with disk_refusals(paths.folder):
        size = path.stat().st_size if path.is_file() else None
        exported, missing = size is None and has_export(paths.folder), not path.exists()
        begun = killed_while_created(path)  # nothing was written yet
        remains = paths.leftovers if size == 0 or (missing and not exported) else ()
    if exported:
        raise ConflictError(f"{paths.folder}: holds a published report. Did you mean another --out folder?")
    if remains and not (missing or begun):
        advice = "restore it, or move it away to begin a new one over the stages that are kept"
        raise CorruptionError(f"{path}: is empty, but {remains[0]} is beside it; {advice}")
    if not remains:
        return None
    consequence = "a new ledger is created, without the earlier records and decisions"
    return f"{paths.folder}: has {remains[0]}, but {'an empty' if begun else 'no'} {LEDGER_NAME}; {consequence}"


def _executor_of(request: RunRequest) -> Executor:
    """Return the requested executor."""
    return open_executor(request.engine, request.paths.stages, request.executor_settings)


def _conflict(request: RunRequest, recorded: JsonValue, requested: JsonValue) -> list[str]:
    lines = [f"{request.paths.folder}: holds another experiment's results; nothing was changed. What differs:"]
    lines += [f"  {line}" for line in differences(with_paths_as_in(recorded, requested), requested)]
    return [*lines, "Did you mean another --out folder? To begin anew in this one, move what it holds away"]
