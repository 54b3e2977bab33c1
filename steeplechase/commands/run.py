"""`steeplechase run`: pretrain, apply hurdles, fine-tune, compare. The same command resumes a stopped run."""

import math
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reports.brief import brief
from reports.document import Report
from runners.limits import Limits, seconds_in
from steeplechase.commands.arguments import (
    ArmNames,
    ExperimentFile,
    FactoryPackages,
    PartNames,
    Scale,
    SeedNames,
    Settings,
    StoreUrl,
    TaskNames,
    folder_named,
)
from steeplechase.commands.output import readers_may_go
from steeplechase.commands.report import all_of
from steeplechase.commands.report_format import print_report
from steeplechase.commands.run_experiment import LOCAL, RAY, RunOptions, run_experiment

DONE_WITH_FAILED_TRIALS = 8

OutFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Default: results/EXPERIMENT-SCALE, with the settings if any.", parser=folder_named
    ),
]


Reused = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="A published report or results folder: its finished trials are not run again.",
        parser=folder_named,
    ),
]


def _seconds(text: str) -> float:
    try:
        return seconds_in(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time; write 90s, 45m, 2h or 1.5d") from None


Duration = Annotated[
    float | None,
    typer.Option(
        metavar="TIME",
        parser=_seconds,
        help="Wall-clock of this command, such as 45m or 2h; the same command then resumes.",
    ),
]


class EngineName(StrEnum):
    """Executor of the trials."""

    LOCAL = LOCAL
    RAY = RAY


def run(  # noqa: PLR0913, PLR0917 — one argument per option of the command
    experiment: ExperimentFile,
    scale: Scale = None,
    settings: Settings = None,
    arms: ArmNames = None,
    seeds: SeedNames = None,
    tasks: TaskNames = None,
    engine: Annotated[EngineName, typer.Option(help="Processes on this machine, or Ray Tune.")] = EngineName.LOCAL,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Trials at a time, one thread each.")] = 2,
    out: OutFolder = None,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster, with --engine ray; all its nodes see the --out folder.")
    ] = None,
    store: StoreUrl = "",
    reuse: Reused = None,
    factories_of: FactoryPackages = None,
    gpus_per_trial: Annotated[
        float | None,
        typer.Option(min=0, help="With --engine ray: 0.25, or whole GPUs; default: shared by all workers."),
    ] = None,
    stop_after: Duration = None,
    stop_after_tokens: Annotated[
        float | None, typer.Option(min=1, help="Pretraining tokens of the whole experiment, over all its sessions.")
    ] = None,
    stop_after_cost: Annotated[
        float | None, typer.Option(min=0, help="Cost of the whole experiment, at --price-per-hour.")
    ] = None,
    price_per_hour: Annotated[
        float | None, typer.Option(min=0, help="Price of one worker for an hour, for --stop-after-cost.")
    ] = None,
    stage_limit: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            parser=_seconds,
            help="A stage without progress for so long: its worker is ended, the stage tried again. Default: "
            "20 times the longest of its kind, at least 1h.",
        ),
    ] = None,
) -> None:
    """Run or resume an experiment, and report its results."""
    if address is not None and engine is not EngineName.RAY:
        raise typer.BadParameter("only Ray has a cluster's address; add --engine ray", param_hint="--address")
    if gpus_per_trial is not None:
        _check_gpus(gpus_per_trial, engine)
    limits = replace(
        limits_of(stop_after, stop_after_tokens, stop_after_cost, price_per_hour), stage_seconds=stage_limit
    )
    given = tuple(settings or ()), tuple(reuse or ())
    packages, part = tuple(factories_of or ()), PartNames(arms, seeds, tasks)
    options = RunOptions(engine.value, workers, out, address, *given, gpus_per_trial, limits, store, packages, part)
    _, snapshot = run_experiment(experiment, scale, options, _print_brief)
    if snapshot.failed:
        raise typer.Exit(DONE_WITH_FAILED_TRIALS)


def limits_of(seconds: float | None, tokens: float | None, cost: float | None, price: float | None) -> Limits:
    """Return the limits of the command line. Raises BadParameter for a cost without a price, or a price alone."""
    if (cost is None) != (price is None):
        raise typer.BadParameter("--stop-after-cost and --price-per-hour go together")
    for name, value in (("--stop-after-tokens", tokens), ("--stop-after-cost", cost), ("--price-per-hour", price)):
        if value is not None and not math.isfinite(value):
            raise typer.BadParameter(f"{value} is no number to stop at", param_hint=name)
    return Limits(seconds, None if tokens is None else int(tokens), cost, price or 0.0)


def _check_gpus(share: float, engine: EngineName) -> None:
    if engine is not EngineName.RAY:
        raise typer.BadParameter("only Ray places trials on GPUs; add --engine ray", param_hint="--gpus-per-trial")
    if share > 1 and share != int(share):
        message = f"{share:g} is neither a fraction of one GPU nor whole GPUs"
        raise typer.BadParameter(message, param_hint="--gpus-per-trial")


def _print_brief(report: Report, folder: Path) -> None:
    with readers_may_go():  # the mirror and the exit code follow
        print_report(brief(report, all_of(folder)))
