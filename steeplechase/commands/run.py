"""`steeplechase run`: pretrain, apply hurdles, fine-tune, compare. The same command resumes a stopped run.

A stop signal ends a run at a safe point, with the exit code for resumable runs.
"""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

import typer
from rich.console import Console

from reports.document import Report
from reports.explorer.exploration import is_installed as explorer_is_installed
from reports.report import build
from reports.sections.squad import answer_lines
from reports.sections.vocabulary import vocabulary_notes
from reports.summary import brief
from reports.write import REPORT_FILES, files_to_attach, refuse_foreign, refuse_taken, write_report
from runners.limits import LimitReached
from runners.metric_trials import metric_warnings
from runners.opening import RunRequest, lost_ledger
from runners.run import run as drive
from runners.run_progress import RunProgress
from runners.settings import RAY, RunSettings
from runners.task_sources import table_warnings
from search_space.cards import card_memory
from steeplechase.commands.arguments import ExperimentFile, choose, with_flags_of, with_places
from steeplechase.commands.output import readers_may_go
from steeplechase.commands.report import all_of, print_report
from steeplechase.commands.run_lines import deciding_lines, failure_lines, lines_of_a_part, opening_lines
from steeplechase.commands.terminal.live_view import LiveView
from steeplechase.commands.terminal.mlflow_sync import Mirroring
from steeplechase.commands.terminal.screen import LastingConsole
from steeplechase.configuration.validation.warnings import warnings_of
from steeplechase.foundation.environment import memory_bytes
from steeplechase.foundation.errors import (
    ConfigurationError,
    ConflictError,
    DataError,
    MachineError,
    ReportedError,
    StoppedError,
)
from steeplechase.foundation.program import program
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.snapshot import Snapshot

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # batch queues send SIGUSR1 before a kill
RAY_ADDRESS = "RAY_ADDRESS"
"""Environment variable that Ray reads for the address of a cluster."""
SECONDS_TO_ANSWER = 10.0
DONE_WITH_FAILED_TRIALS = 8
OnReport = Callable[[Report, Path], None]
"""Called with the report and its folder, before the last mirroring to MLflow."""
Lines = tuple[str, ...]


class Stopping:
    """Whether a stop signal has arrived."""

    def __init__(self) -> None:
        self._signalled = self._deferred = False
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def listen(self) -> None:
        """Install the handlers, except for signals that were ignored, as SIGHUP under nohup."""
        for number, handler in self._before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.on_signal)

    def listen_no_more(self) -> None:
        """Restore the previous handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: stop at once, or at the next safe point if there are any; a second one stops at once."""
        for each, handler in self._before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, signal.SIG_DFL)
        self._signalled = True
        if not self._deferred:
            self._stop()

    def at_next_safe_point(self) -> None:
        """Stop at the next safe point, as a signal does; without any, go on."""
        self._signalled = True

    def safe_point(self) -> None:
        """Stop here if a signal has arrived. From now on a signal takes effect at the next safe point."""
        self._deferred = True
        if self._signalled:
            self._stop()

    def no_more_safe_points(self) -> None:
        """Stop here if a signal has arrived. From now on a signal stops at once."""
        self._deferred = False
        if self._signalled:
            self._stop()

    def _stop(self) -> None:
        raise StoppedError("stopped; finished stages are kept, and the same command resumes")


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Turn the first signal into a resumable stop."""
    stop = Stopping()
    stop.listen()
    try:
        yield stop
    finally:
        stop.listen_no_more()


def run_experiment(file: Path, settings: RunSettings, on_report: OnReport) -> tuple[RunRequest, Snapshot]:
    """Run or resume an experiment and write its report; progress goes to the error stream.

    Raises ConfigurationError with every mistake of the file, StoppedError when a signal ends it, and LimitReached,
    after the report is written, when a limit does.
    """
    declared, scale, scales = choose(file, settings.scale, settings.overrides, settings.factories_of)
    if declared.measure.of_arms and (given := settings.elsewhere if declared.has_trials else settings.of_trials):
        raise ConfigurationError(f"{file}: arms are timed on this machine; leave {', '.join(given)} out")
    command, part = settings.command(file, scale), settings.part_of(declared)
    address = settings.address or (cluster_in_environment() if settings.engine == RAY else None)
    paths = settings.paths_of(declared.experiment, scale)
    with stopping() as stop:
        console = LastingConsole(stop.at_next_safe_point, stderr=True)
        try:
            request = RunRequest(
                experiment=declared,
                scale=scale,
                paths=paths,
                settings=replace(settings, address=address),
                command=command,
                part=part,
                on_warning=partial(_warn, console),
            )
            opening = opening_lines(request, is_default=settings.scale is None and bool(scales))
            if address != settings.address:
                _say(console, f"Ray: the cluster at {address}, from {RAY_ADDRESS}; unset it to run on this machine")
                refuse_silent_cluster(str(address))
            return request, _drive(request, console, stop, on_report, opening)
        except DataError as error:  # of missing data, or of a corpus that a stage could not read
            raise with_places(error, file, settings.scale, settings.overrides) from error


def cluster_in_environment() -> str | None:
    """Return the address of a Ray cluster in the environment; None where Ray starts on this machine."""
    address = os.environ.get(RAY_ADDRESS, "").strip()
    return None if address in ("", "local") else address


def refuse_silent_cluster(address: str) -> None:
    """Raise MachineError if nothing answers at the `HOST:PORT` of the environment; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        remedy = f"start it, or unset {RAY_ADDRESS} to run on this machine"
        raise MachineError(f"{RAY_ADDRESS}: no Ray cluster answers at {address} ({error}); {remedy}") from error


def _drive(request: RunRequest, console: Console, stop: Stopping, on_report: OnReport, opening: Lines) -> Snapshot:
    places, experiment = request.paths, request.experiment
    of_tasks = (*table_warnings(experiment.fine_tuning), *metric_warnings(experiment.fine_tuning))
    for line in (*warnings_of(experiment, memory_bytes(), card_memory()), *of_tasks):
        _warn(console, line)
    mirroring = Mirroring(places, experiment.tracking)
    _warn(console, mirroring.check())
    refuse_taken(places.folder)
    of_a_run = any((places.folder / name).exists() for name in (LEDGER_NAME, REPORT_FILES["html"]))
    if not of_a_run and not has_export(places.folder):
        refuse_foreign(places.folder)
    _warn(console, lost_ledger(places))
    try:
        return _run_and_report(request, console, stop, on_report, mirroring, opening)
    except (LimitReached, ConflictError):  # after the last mirroring; another run's ledger
        raise
    except ReportedError:
        _warn(console, mirroring.interrupt())
        raise


def _run_and_report(
    request: RunRequest,
    console: Console,
    stop: Stopping,
    on_report: OnReport,
    mirroring: Mirroring,
    opening: Lines,
) -> Snapshot:
    places, experiment, unsaid = request.paths, request.experiment, iter(opening)
    during = nullcontext() if experiment.measure.of_arms else mirroring  # which would disturb a timing
    with LiveView(console, ArtifactStore(places.stages)) as view, during:

        def watch(progress: RunProgress) -> None:
            stop.safe_point()
            for line in unsaid:  # once, after the folder and its ledger could be opened
                _say(console, line)
            view.watch(progress)

        limited: LimitReached | None = None
        try:
            snapshot = drive(request, watch)
        except LimitReached as reached:
            limited, snapshot = reached, reached.snapshot
        stop.no_more_safe_points()
    report = build(snapshot, example_tables=kept_example_tables(places.folder, request.settings.store, snapshot))
    files = write_report(report, places.folder)
    on_report(report, places.folder)
    with scratch_folder() as scratch:
        attached = files_to_attach(files, scratch)
        _warn(console, mirroring.finish(snapshot, attached, partial(_say, console)))
    told = (line for _, line in vocabulary_notes(experiment, snapshot.shared))
    for line in (*told, *answer_lines(snapshot.shared)):
        _warn(console, line)
    explored = experiment.has_trials and explorer_is_installed()
    for line in (
        *failure_lines(snapshot, experiment),
        *lines_of_a_part(request, snapshot),
        *deciding_lines(request, snapshot, report),
        f"report: {places.folder / REPORT_FILES['html']}",
        f"browse: {program()} ui {places.folder}",
        *((f"explore: {program()} explore {places.folder}",) if explored else ()),
    ):
        _say(console, line)
    if limited is not None:
        raise limited
    return snapshot


def _warn(console: Console, warning: str | None) -> None:
    if warning is not None:
        _say(console, f"warning: {warning}")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


@with_flags_of(RunSettings)
def run(experiment: ExperimentFile, settings: RunSettings) -> None:
    """Run or resume an experiment, and report its results."""
    _, snapshot = run_experiment(experiment, settings, _print_brief)
    if snapshot.failed:
        raise typer.Exit(DONE_WITH_FAILED_TRIALS)


def _print_brief(report: Report, folder: Path) -> None:
    with readers_may_go():  # the mirror and the exit code follow
        print_report(brief(report, all_of(folder)))
