"""`steeplechase run`: pretrain, apply hurdles, fine-tune, compare. The same command resumes a stopped run."""

import os
import shlex
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import typer
from rich.console import Console

from reports.document import Report
from reports.explorer.plotly_library import is_installed as explorer_is_installed
from reports.number_format import duration
from reports.report import build
from reports.sections.squad import answer_lines
from reports.sections.vocabulary import vocabulary_notes
from reports.summary import brief
from reports.write import REPORT_FILES, files_to_attach, refuse_foreign, refuse_taken, write_report
from runners.cost_estimate.prediction import disk_shortage
from runners.dag import SharedStages
from runners.limits import LimitReached
from runners.opening import RunRequest, lost_ledger, stages_of
from runners.part import WHOLE
from runners.plan import WorkLeft, work_left
from runners.run import run as drive
from runners.run_progress import RunProgress
from runners.settings import RAY, RunSettings
from runners.task_sources import table_warnings
from search_space.cards import card_memory
from steeplechase.commands.arguments import ExperimentFile, choose_any, with_flags_of
from steeplechase.commands.output import program, readers_may_go
from steeplechase.commands.report import all_of, print_report
from steeplechase.commands.stopping import Stopping, stopping
from steeplechase.commands.terminal.live_view import LiveView
from steeplechase.commands.terminal.mlflow_sync import Mirroring
from steeplechase.commands.terminal.screen import LastingConsole
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.validation.warnings import warnings_of
from steeplechase.configuration.yaml.settings import FLAG
from steeplechase.foundation.environment import memory_bytes
from steeplechase.foundation.errors import ConfigurationError, ConflictError, MachineError, UserError
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.records import NOT_ENDED, WITHOUT_SCALES, TrialStatus
from steeplechase.ledger.snapshot import Snapshot

SEEDS, FINAL_SEEDS = "pretraining.seeds", "design.finalists.seeds"


def deciding_lines(request: RunRequest, snapshot: Snapshot, report: Report) -> Iterator[str]:
    """Yield what is undecided, and the command with the seeds that decide it; nothing for seeds added by a rule."""
    experiment, summary = request.experiment, report.summary
    if summary is None or not summary.undecided:
        return
    seeds, needed = experiment.pretraining.seeds, summary.seeds_to_decide
    if not isinstance(seeds, tuple) or any(history.status in NOT_ENDED for history in snapshot.histories):
        return
    yield f"undecided: {', '.join(summary.undecided)}, for 80% power at the observed Δ and sd"
    if needed is not None and snapshot.final is not None:
        if isinstance(experiment.design, Search) and snapshot.final.plan.declared:
            folder = request.paths.folder
            places = ["--out", f"{folder}-{needed}-seeds", "--reuse", str(folder)]
            yield f"decide in a new folder: {_command(request, FINAL_SEEDS, str(needed), places)}"
    elif needed is not None:
        time = _time(snapshot, len(snapshot.arms) * (needed - len(seeds)), request.settings.workers)
        places = ["--out", str(request.paths.folder)]
        yield f"decide{time}: {_command(request, SEEDS, _with_more(seeds, needed), places)}"
        yield (
            "the verdicts of that run are exploratory: their error rates do not count this look at the results; "
            "`seeds: { until_decided: … }` in a new folder counts every look"
        )


def _time(snapshot: Snapshot, trials: int, workers: int) -> str:
    """Return the time of so many trials as long as the finished ones; empty without one."""
    seconds = [
        sum(record.seconds for record in history.records)
        for history in snapshot.histories
        if history.status is TrialStatus.FINISHED
    ]
    return f" in about {duration(fmean(seconds) * trials / workers)}" if seconds else ""


def _with_more(seeds: tuple[int, ...], needed: int) -> str:
    """Return the seeds with the next ones; a number stands for 1, 2, 3 up to it."""
    if seeds == tuple(range(1, len(seeds) + 1)):
        return str(needed)
    more = (*seeds, *range(max(seeds) + 1, max(seeds) + 1 + needed - len(seeds)))
    return f"[{','.join(map(str, more))}]"


def _command(request: RunRequest, setting: str, value: str, places: Sequence[str]) -> str:
    """Return the run's command with another value of a setting, into the folder that `places` names."""
    _, *arguments = shlex.split(request.command)
    given = [at for at, word in enumerate(arguments) if word == FLAG and arguments[at + 1].startswith(f"{setting}=")]
    kept = [word for at, word in enumerate(arguments) if not {at, at - 1} & set(given)]
    return shlex.join([program(), *kept, FLAG, f"{setting}={value}", *places])


RAY_ADDRESS = "RAY_ADDRESS"
"""Environment variable that Ray reads for the address of a cluster."""
SECONDS_TO_ANSWER = 10.0
OnReport = Callable[[Report, Path], None]
Lines = tuple[str, ...]
"""Called with the report and its folder, before the last mirroring to MLflow."""


def run_experiment(file: Path, settings: RunSettings, on_report: OnReport) -> tuple[RunRequest, Snapshot]:
    """Run or resume an experiment and write its report; progress goes to the error stream.

    Raises ConfigurationError with every mistake of the file, StoppedError when a signal ends it, and LimitReached,
    after the report is written, when a limit does.
    """
    declared, scale, scales = choose_any(file, settings.scale, settings.overrides, settings.factories_of)
    if declared.measure.of_arms and (given := settings.elsewhere if declared.has_trials else settings.of_trials):
        raise ConfigurationError(f"{file}: arms are timed on this machine; leave {', '.join(given)} out")
    command, part = settings.command(file, scale), settings.part_of(declared)
    address = settings.address or (cluster_in_environment() if settings.engine == RAY else None)
    paths = settings.paths_of(declared.experiment, scale)
    with stopping() as stop:
        console = LastingConsole(stop.at_next_safe_point, stderr=True)
        request = RunRequest(
            experiment=declared,
            scale=scale,
            paths=paths,
            settings=replace(settings, address=address),
            command=command,
            shared=stages_of(declared),  # refuses where data are missing
            part=part,
            on_warning=partial(_warn, console),
        )
        opening = opening_lines(request, is_default=settings.scale is None and bool(scales))
        if address != settings.address:
            _say(console, f"Ray: the cluster at {address}, from {RAY_ADDRESS}; unset it to run on this machine")
            refuse_silent_cluster(str(address))
        return request, _drive(request, console, stop, on_report, opening)


def opening_lines(request: RunRequest, is_default: bool) -> Lines:
    """Return experiment, scale, trials and estimated time, and a lack of space on the disk.

    `is_default` is whether nobody chose the scale.
    """
    shared = request.shared
    assert isinstance(shared, SharedStages)
    work = work_left(request.experiment, shared, request.paths, request.part)
    short = disk_shortage(None if work is None else work.prediction, request.paths.root)
    return _opening_line(request, shared, work, is_default), *(f"warning: {line}" for line in short)


def _opening_line(request: RunRequest, shared: SharedStages, work: WorkLeft | None, is_default: bool) -> str:
    experiment, part = request.experiment, request.part
    default = " (the default)" if is_default else ""
    name = experiment.experiment + ("" if request.scale == WITHOUT_SCALES else f" at scale {request.scale}{default}")
    if not experiment.has_trials:
        return f"{name}: {len(experiment.arms)} arms, no trials; {len(shared.named())} stages that measure all arms"
    seeds = first_seeds(experiment.pretraining.seeds)
    count = sum(part.has_trial(arm.name, seed) for arm in experiment.arms for seed in seeds)
    trials = f"{count} trial{'' if count == 1 else 's'}"
    if experiment.search is not None:
        trials = f"at most {max(count, experiment.search.max_candidates * len(seeds))} trials"
    left = None if work is None else work.seconds(request.settings.workers)
    if left is None:
        return f"{name}: {trials}, no estimate of the time yet"
    seconds, bounded = left
    if not seconds:
        return f"{name}: {trials}, nothing left to compute"
    return f"{name}: {trials}, {'at most ' if bounded else ''}about {duration(seconds)}"


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
    for line in (*warnings_of(experiment, memory_bytes(), card_memory()), *table_warnings(experiment.fine_tuning)):
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
    except UserError:
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
    report = build(snapshot, example_tables=kept_example_tables(places.folder, request.settings.store))
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
        *_failures(snapshot, experiment),
        *_left_for_later(request, snapshot),
        *deciding_lines(request, snapshot, report),
        f"report: {places.folder / REPORT_FILES['html']}",
        f"browse: {program()} ui {places.folder}",
        *((f"explore: {program()} explore {places.folder}",) if explored else ()),
    ):
        _say(console, line)
    if limited is not None:
        raise limited
    return snapshot


def _failures(snapshot: Snapshot, experiment: Experiment) -> Iterator[str]:
    """Yield lines about the failed trials, which the next run repeats."""
    if not snapshot.failed:
        return
    names = ", ".join(history.trial.name for history in snapshot.failed)
    yield f"failed: {names}; the same command repeats them"
    if not experiment.may_grow:
        yield "No decision that depends on their results has been made."
    if experiment.search is not None:
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


DONE_WITH_FAILED_TRIALS = 8


@with_flags_of(RunSettings)
def run(experiment: ExperimentFile, settings: RunSettings) -> None:
    """Run or resume an experiment, and report its results."""
    _, snapshot = run_experiment(experiment, settings, _print_brief)
    if snapshot.failed:
        raise typer.Exit(DONE_WITH_FAILED_TRIALS)


def _print_brief(report: Report, folder: Path) -> None:
    with readers_may_go():  # the mirror and the exit code follow
        print_report(brief(report, all_of(folder)))
