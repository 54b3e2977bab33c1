"""One run of an experiment: checks, mirroring to MLflow, progress on the terminal, the report's files."""

import os
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from reports.document import Report
from reports.explorer.plotly_library import is_installed as explorer_is_installed
from reports.report import build
from reports.sections.squad import answer_lines
from reports.sections.vocabulary import vocabulary_notes
from reports.write import REPORT_FILES, files_to_attach, refuse_foreign, refuse_taken, write_report
from runners.limits import UNLIMITED, LimitReached, Limits
from runners.opening import RunRequest, lost_ledger
from runners.part import WHOLE
from runners.run import run as drive
from runners.run_progress import RunProgress
from runners.task_sources import table_warnings
from search_space.module_factories import FLAG as FACTORIES_OF
from steeplechase.commands.arguments import ALL, PartNames, choose_any, results_of
from steeplechase.commands.next_command import deciding_lines, program
from steeplechase.commands.planning.opening_line import opening_line
from steeplechase.commands.stopping import Stopping, stopping
from steeplechase.commands.terminal.live_view import LiveView
from steeplechase.commands.terminal.mlflow_sync import Mirroring
from steeplechase.commands.terminal.screen import LastingConsole
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.loading import AnyExperiment
from steeplechase.configuration.validation.warnings import warnings_of
from steeplechase.configuration.yaml.settings import FLAG
from steeplechase.foundation.environment import memory_bytes
from steeplechase.foundation.errors import ConfigurationError, ConflictError, MachineError, UserError
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.records import NOT_ENDED, WITHOUT_SCALES
from steeplechase.ledger.snapshot import Snapshot

LOCAL, RAY = "local", "ray"
RAY_ADDRESS = "RAY_ADDRESS"
"""Environment variable that Ray reads for the address of a cluster."""
SECONDS_TO_ANSWER = 10.0
OnReport = Callable[[Report, Path], None]
"""Called with the report and its folder, before the last mirroring to MLflow."""


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is run; results do not depend on it, apart from the settings."""

    engine: str = LOCAL
    workers: int = 2
    out: Path | None = None
    address: str | None = None
    settings: tuple[str, ...] = ()
    """KEY=VALUE, in place of values of the file."""
    reuse: tuple[Path, ...] = ()
    """Results folders and published reports whose finished trials with the same keys are taken over."""
    gpus_per_trial: float | None = None
    """GPUs of a trial under Ray, a fraction or a whole number."""
    limits: Limits = UNLIMITED
    """What the run may spend; at a limit it ends incomplete and resumable."""
    objects: str = ""
    """URL of an object store for the stages."""
    factories_of: tuple[str, ...] = ()
    """Packages outside plugins whose functions the file may name as factories."""
    part: PartNames = ALL
    """What of the experiment is run now."""

    @property
    def of_trials(self) -> tuple[str, ...]:
        """The given options that only trials have a use for."""
        given = {
            "--engine": self.engine != LOCAL,
            "--address": self.address is not None,
            "--reuse": bool(self.reuse),
            "--stop-after-tokens": self.limits.tokens is not None,
        }
        return tuple(flag for flag, is_given in given.items() if is_given)


def run_experiment(
    file: Path, scale: str | None, options: RunOptions, on_report: OnReport
) -> tuple[RunRequest, Snapshot]:
    """Run or resume an experiment and write its report; progress goes to the error stream.

    Raises ConfigurationError with every mistake of the file, StoppedError when a signal ends it, and LimitReached,
    after the report is written, when a limit does.
    """
    declared, name, scales = choose_any(file, scale, options.settings, options.factories_of)
    if isinstance(declared, LatencyExperiment) and options.of_trials:
        message = f"a timing experiment runs alone on this machine; leave {', '.join(options.of_trials)} out"
        raise ConfigurationError(f"{file}: {message}")
    address = options.address or (cluster_in_environment() if options.engine == RAY else None)
    request = RunRequest(
        experiment=declared,
        scale=name,
        paths=results_of(options.out, declared.experiment, name, options.settings),
        engine=options.engine,
        workers=options.workers,
        address=address,
        command=_command(file, name, options),
        settings=options.settings,
        reuse=options.reuse,
        gpus_per_trial=options.gpus_per_trial,
        limits=options.limits,
        objects=options.objects,
        part=options.part.of(declared),
    )
    with stopping() as stop:
        console = LastingConsole(stop.at_next_safe_point, stderr=True)
        request = replace(request, on_warning=partial(_warn, console))
        first = opening_line(request, is_default=scale is None and bool(scales))  # refuses where data are missing
        if address != options.address:
            _say(console, f"Ray: the cluster at {address}, from {RAY_ADDRESS}; unset it to run on this machine")
            refuse_silent_cluster(str(address))
        return request, _drive(request, console, stop, on_report, first)


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


def _command(file: Path, scale: str, options: RunOptions) -> str:
    """Return the command with all defaults filled in, without the results folder and the address of a cluster."""
    at_scale = [] if scale == WITHOUT_SCALES else ["--scale", scale]
    arguments = ["steeplechase", "run", str(file), *at_scale, "--engine", options.engine]
    arguments += ["--workers", str(options.workers)]
    arguments += [part for setting in options.settings for part in (FLAG, setting)]
    arguments += [part for package in options.factories_of for part in (FACTORIES_OF, package)]
    return shlex.join([*arguments, *(word for folder in options.reuse for word in ("--reuse", str(folder)))])


def _drive(request: RunRequest, console: Console, stop: Stopping, on_report: OnReport, first: str) -> Snapshot:
    places, experiment = request.paths, request.experiment
    if isinstance(experiment, Experiment):
        for line in (*warnings_of(experiment, memory_bytes()), *table_warnings(experiment.fine_tuning)):
            _warn(console, line)
    mirroring = Mirroring(places, experiment.tracking)
    _warn(console, mirroring.check())
    refuse_taken(places.folder)
    of_a_run = any((places.folder / name).exists() for name in (LEDGER_NAME, REPORT_FILES["html"]))
    if not of_a_run and not has_export(places.folder):
        refuse_foreign(places.folder)
    _warn(console, lost_ledger(places))
    try:
        return _run_and_report(request, console, stop, on_report, mirroring, first)
    except (LimitReached, ConflictError):  # after the last mirroring; another run's ledger
        raise
    except UserError:
        _warn(console, mirroring.interrupt())
        raise


def _run_and_report(
    request: RunRequest, console: Console, stop: Stopping, on_report: OnReport, mirroring: Mirroring, first: str
) -> Snapshot:
    places, experiment, opening = request.paths, request.experiment, iter((first,))
    is_latency = isinstance(experiment, LatencyExperiment)  # mirroring would disturb the timing
    with LiveView(console, ArtifactStore(places.stages)) as view, nullcontext() if is_latency else mirroring:

        def watch(progress: RunProgress) -> None:
            stop.safe_point()
            for line in opening:  # once, after the folder and its ledger could be opened
                _say(console, line)
            view.watch(progress)

        limited: LimitReached | None = None
        try:
            snapshot = drive(request, watch)
        except LimitReached as reached:
            limited, snapshot = reached, reached.snapshot
        stop.no_more_safe_points()
    report = build(snapshot, example_tables=kept_example_tables(places.folder, request.objects))
    files = write_report(report, places.folder)
    on_report(report, places.folder)
    with scratch_folder() as scratch:
        attached = files_to_attach(files, scratch)
        _warn(console, mirroring.finish(snapshot, attached, partial(_say, console)))
    if isinstance(experiment, Experiment):
        told = (line for _, line in vocabulary_notes(experiment, snapshot.shared))
        for line in (*told, *answer_lines(snapshot.shared)):
            _warn(console, line)
    for line in (
        *_failures(snapshot, experiment),
        *_left_for_later(request, snapshot),
        *deciding_lines(request, snapshot, report),
        f"report: {places.folder / REPORT_FILES['html']}",
        f"browse: {program()} ui {places.folder}",
        *(() if is_latency or not explorer_is_installed() else (f"explore: {program()} explore {places.folder}",)),
    ):
        _say(console, line)
    if limited is not None:
        raise limited
    return snapshot


def _failures(snapshot: Snapshot, experiment: AnyExperiment) -> Iterator[str]:
    """Yield lines about the failed trials, which the next run repeats."""
    if not snapshot.failed:
        return
    names = ", ".join(history.trial.name for history in snapshot.failed)
    yield f"failed: {names}; the same command repeats them"
    if not experiment.may_grow:
        yield "No decision that depends on their results has been made."
    if isinstance(experiment, Experiment) and experiment.search is not None:
        yield "A candidate that can never run is excluded by `constraints:`, in another --out folder."


def _left_for_later(request: RunRequest, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line about the trials that a run of a part has not finished."""
    waiting = sum(history.status in NOT_ENDED for history in snapshot.histories)
    if request.part != WHOLE and waiting:
        trials = "1 trial is" if waiting == 1 else f"{waiting} trials are"
        rest = "the same command without --arms, --seeds and --tasks runs the rest"
        yield f"left for later: {trials} unfinished; {rest}"


def _warn(console: Console, warning: str | None) -> None:
    if warning is not None:
        _say(console, f"warning: {warning}")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
