"""`steeplechase run`: pretrain, hurdle, fine-tune, compare. The same command carries on where a run was stopped."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from commands.arguments import Chosen, ExperimentFile, Scale, asks_for_time, choose, choose_timing
from commands.stopping import Stopping, stopping
from commands.timing import run_timing
from commands.views.live_view import LiveView
from commands.views.mirroring import Mirroring
from reports.files import REPORT_FILES, write_report
from reports.formats import render
from reports.report import build
from runners.driving.driver import Request
from runners.driving.driver import run as drive
from runners.driving.work import Agenda
from runners.evidence.standing import Snapshot
from runners.kept.places import Places
from runners.kept.store import StageStore
from runners.timing.keeping import has_timings
from search_space.refusals import ConfigurationRefused, Conflict

DONE_WITH_FAILED_TRIALS = 8


class EngineName(StrEnum):
    """Where trials run."""

    LOCAL = "local"
    RAY = "ray"


def run(
    experiment: ExperimentFile,
    scale: Scale = None,
    engine: Annotated[EngineName, typer.Option(help="Processes on this machine, or Ray Tune.")] = EngineName.LOCAL,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Trials at a time, one thread each.")] = 2,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Default: results/EXPERIMENT-SCALE.")] = None,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster, with --engine ray; all its nodes see the --out folder.")
    ] = None,
) -> None:
    """Run an experiment, or carry on where it stands, and report what was found."""
    if asks_for_time(experiment):
        if engine is not EngineName.LOCAL or address is not None:
            raise ConfigurationRefused(
                f"{experiment}: a timing experiment runs alone in this process; leave --engine out"
            )
        timed = choose_timing(experiment, scale)
        with stopping():
            run_timing(timed, _places(timed.experiment.experiment, timed.scale, out))
        return
    chosen = choose(experiment, scale)
    places = _places(chosen.experiment.experiment, chosen.scale, out)
    if has_timings(places.folder):
        raise Conflict(f"{places.folder}: holds timings. Did you mean another --out folder?")
    request = Request(chosen.experiment, chosen.scale, places, engine.value, workers, address)
    with stopping() as stop:
        found = _drive(chosen, request, Console(stderr=True), stop)
    if found.failed:
        raise typer.Exit(DONE_WITH_FAILED_TRIALS)


def _places(experiment: str, scale: str, out: Path | None) -> Places:
    return Places.of(out) if out else Places.default(experiment, scale)


def _drive(chosen: Chosen, request: Request, console: Console, stop: Stopping) -> Snapshot:
    places = request.places
    mirroring = Mirroring(places, chosen.experiment.tracking)
    mirroring.check()
    with LiveView(console, StageStore(places.stages)) as view, mirroring:

        def watch(agenda: Agenda) -> None:
            stop.safe_point()
            view.watch(agenda)

        found = drive(request, watch)
        stop.no_more_safe_points()
    files = write_report(found, places.folder)
    warning = mirroring.finish(found, files)
    print(render(build(found, found.importance or None), "terminal"))  # noqa: T201 — the result itself
    for line in _closing(places, warning):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return found


def _closing(places: Places, warning: str | None) -> Iterator[str]:
    if warning is not None:
        yield f"warning: {warning}"
    yield f"report: {places.folder / REPORT_FILES['html']}"
    yield f"browse: steeplechase ui {places.folder}"
