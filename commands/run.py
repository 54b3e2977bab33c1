"""`steeplechase run`: pretrain, apply hurdles, fine-tune, compare. The same command resumes a stopped run."""

import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from commands.arguments import ExperimentFile, Scale, choose_any, folder_named
from commands.report import TERMINAL, all_of
from commands.stopping import Stopping, stopping
from commands.terminal.live_view import LiveView
from commands.terminal.mlflow_sync import Mirroring
from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.loading import AnyExperiment
from configuration.validation.warnings import warnings_of
from foundation.errors import ConfigurationError
from ledger.artifacts import ArtifactStore
from ledger.example_tables import kept_example_tables
from ledger.paths import ResultPaths
from ledger.snapshot import Snapshot
from reports.brief import brief
from reports.formats import render
from reports.report import build
from reports.write import REPORT_FILES, files_to_attach, refuse_taken, write_report
from runners.run import RunRequest, lost_ledger
from runners.run import run as drive
from runners.run_progress import RunProgress
from runners.task_sources import table_warnings

DONE_WITH_FAILED_TRIALS = 8

OutFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Default: results/EXPERIMENT-SCALE.", parser=folder_named)
]


class EngineName(StrEnum):
    """Executor of the trials."""

    LOCAL = "local"
    RAY = "ray"


def run(
    experiment: ExperimentFile,
    scale: Scale = None,
    engine: Annotated[EngineName, typer.Option(help="Processes on this machine, or Ray Tune.")] = EngineName.LOCAL,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Trials at a time, one thread each.")] = 2,
    out: OutFolder = None,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster, with --engine ray; all its nodes see the --out folder.")
    ] = None,
) -> None:
    """Run or resume an experiment, and report its results."""
    declared, name, _ = choose_any(experiment, scale)
    if isinstance(declared, LatencyExperiment) and (engine is not EngineName.LOCAL or address is not None):
        raise ConfigurationError(f"{experiment}: a timing experiment runs alone on this machine; leave --engine out")
    places = ResultPaths.of(out) if out else ResultPaths.default(declared.experiment, name)
    command = _command(experiment, name, engine, workers, out)
    request = RunRequest(declared, name, places, engine.value, workers, address, command)
    with stopping() as stop:
        snapshot = _drive(request, Console(stderr=True), stop)
    if snapshot.failed:
        raise typer.Exit(DONE_WITH_FAILED_TRIALS)


def _command(experiment: Path, scale: str, engine: EngineName, workers: int, out: Path | None) -> str:
    """Return the command with all defaults filled in; the address of a cluster is left out."""
    arguments = ["steeplechase", "run", str(experiment), "--scale", scale, "--engine", engine.value]
    arguments += ["--workers", str(workers)]
    return shlex.join([*arguments, *(["--out", str(out)] if out else [])])


def _drive(request: RunRequest, console: Console, stop: Stopping) -> Snapshot:
    places, experiment = request.paths, request.experiment
    if isinstance(experiment, Experiment):
        for line in (*warnings_of(experiment), *table_warnings(experiment.fine_tuning)):
            _warn(console, line)
    mirroring = Mirroring(places, experiment.tracking)
    _warn(console, mirroring.check())
    refuse_taken(places.folder)
    _warn(console, lost_ledger(places))
    is_latency = isinstance(experiment, LatencyExperiment)  # mirroring would disturb the timing
    with LiveView(console, ArtifactStore(places.stages)) as view, nullcontext() if is_latency else mirroring:

        def watch(progress: RunProgress) -> None:
            stop.safe_point()
            view.watch(progress)

        snapshot = drive(request, watch)
        stop.no_more_safe_points()
    report = build(snapshot, example_tables=kept_example_tables(places.folder))
    files = write_report(report, places.folder)
    print(render(brief(report, all_of(places.folder)), TERMINAL), flush=True)  # noqa: T201 — the result itself
    with TemporaryDirectory(prefix="steeplechase-") as scratch:
        _warn(console, mirroring.finish(snapshot, files_to_attach(files, Path(scratch))))
    for line in (
        *_failures(snapshot, experiment),
        f"report: {places.folder / REPORT_FILES['html']}",
        f"browse: steeplechase ui {places.folder}",
    ):
        _say(console, line)
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


def _warn(console: Console, warning: str | None) -> None:
    if warning is not None:
        _say(console, f"warning: {warning}")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
