"""The run loop: ask the scheduler for the next step, record its decisions, execute stages, record their results."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from runners.executors import Executor, open_executor
from runners.journal import Journal
from runners.limits import UNLIMITED, LimitReached
from runners.meter import LimitStop, Meter, spent_on_hidden
from runners.opening import RunRequest, open_ledger, refuse_missing_device
from runners.run_progress import RunProgress
from runners.search.next_arms import importance_of_axes
from runners.stage_watch import StageWatch
from runners.stages.stage import THREADS, this_driver
from runners.work_queue import StageTask
from steeplechase.foundation.devices import is_gpu
from steeplechase.foundation.environment import machine
from steeplechase.foundation.errors import ReportedError, StoppedError, UserError
from steeplechase.ledger.amendments import set_fact_of_version
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.example_tables import refuse_missing_examples
from steeplechase.ledger.example_values import ExampleKeeper
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.reuse import refuse_sources, reuse
from steeplechase.ledger.reused_rows import reused_rows
from steeplechase.ledger.sessions import Stopwatch, sessions
from steeplechase.ledger.snapshot import PARENTS, Snapshot, snapshot

INTERRUPTED, FAILED = "interrupted", "ended by an error"
"""How a session ends that neither a limit nor its last stage ends."""

OnProgress = Callable[[RunProgress], None]
"""Called several times a second with the progress of the run; for display only."""

ProgressReporter = Callable[[RunProgress], AbstractContextManager[Callable[[], None]]]
"""Context manager of one part of a run: reports before and after it, and yields the report in between."""


def run(request: RunRequest, on_progress: OnProgress) -> Snapshot:
    """Run an experiment, or resume it from its ledger; return a snapshot of the ledger at the end.

    Raises a UserError if the request, the data or the machine is at fault, and LimitReached with the snapshot if one
    of the request's limits ends it; finished stages are kept.
    """
    experiment, settings, began = request.experiment, request.settings, time.monotonic()
    # missing data, a missing device or missing rows raise before any folder is created
    shared = request.shared
    refuse_missing_device(request)
    refuse_sources(request.paths.folder, settings.reuse)
    with open_ledger(request) as ledger:
        reuse(ledger, request.paths.folder, settings.reuse, settings.store)
        reused, store = reused_rows(request.paths.folder, ledger), request.paths.store(settings.store)
        store.lenders = tuple(ResultPaths.of(source).store() for source in settings.reuse)
        ExampleKeeper(ledger, store).keep_all()
        refuse_missing_examples(request.paths.folder, ledger, settings.store)
        journal = Journal(experiment, shared, store, ledger, reused, request.part)
        if outdated := len(journal.outdated):
            counted = f"{outdated} finished fine-tunings from their predictions; nothing is trained"
            request.on_warning(f"fine_tuning.metrics have changed: computed for {counted}")
        meter = Meter(settings, journal, sessions(ledger), began, spent_on_hidden(ledger))
        try:
            with timed(ledger, request, on_progress, meter) as reporter, _executor_of(request) as executor:
                run_stages(journal, executor, reporter, meter)
        except LimitStop as stop:
            raise LimitReached(stop.reason, snapshot(ledger)) from stop
        final = snapshot(ledger)
        # the importance includes failed trials, which the next run retries
        if experiment.search is not None and not final.failed:
            set_fact_of_version(ledger, "importance", importance_of_axes(experiment, ledger))
            if journal.state.race is not None and journal.state.race.parents:
                set_fact_of_version(ledger, PARENTS, {**journal.state.race.parents})
            final = snapshot(ledger)
        return final


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
    if not journal.state.experiment.has_trials:
        return
    journal.rescore()
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

    A stage that is computed for another trial is awaited, and its result then reused. After a stored result the
    search continues at the same trial, so that one pass finds all stored results.
    """
    ready, computed = journal.decide_next().ready, {task.stage.key for task in journal.started.values()}
    waiting = [task for task in ready if task.stage.key not in computed and executor.accepts(task)]
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
    except ReportedError as error:
        how = INTERRUPTED if isinstance(error, StoppedError) else FAILED
        with suppress(UserError):  # of a full disk, the error itself is reported
            stopwatch.interrupt(how, 0.0 if meter is None else meter.running_seconds())
        raise
    finally:
        stopwatch.end()


def _executor_of(request: RunRequest) -> Executor:
    """Return the requested executor."""
    on_gpu = any(is_gpu(arm.candidate.recipe.device) for arm in request.experiment.arms)
    return open_executor(request.paths.stages, request.settings, on_gpu)
