"""`steeplechase plan`: arms, costs, cached stages and predicted time, without running anything."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from search_space.cost import MATMUL, Convention
from steeplechase.commands.arguments import (
    ALL,
    ArmNames,
    Chosen,
    ExperimentFile,
    FactoryPackages,
    FlopsName,
    PartNames,
    Scale,
    SeedNames,
    Settings,
    StoreUrl,
    TaskNames,
    choose_any,
    command_of,
    convention_named,
    folder_named,
    results_of,
)
from steeplechase.commands.planning.latency_plan import latency_plan_document, show_latency_plan
from steeplechase.commands.planning.plan_contents import plan_document, plan_of
from steeplechase.commands.planning.plan_view import show_plan
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.foundation.schema import JsonValue

PlannedFolder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where `run` would put it: its cache is read.", parser=folder_named),
]


def plan(  # noqa: PLR0913, PLR0917 — one argument per option of the command
    experiment: ExperimentFile,
    scale: Scale = None,
    settings: Settings = None,
    arms: ArmNames = None,
    seeds: SeedNames = None,
    tasks: TaskNames = None,
    flops: FlopsName = MATMUL.name,
    out: PlannedFolder = None,
    store: StoreUrl = "",
    factories_of: FactoryPackages = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Show every arm, its difference from the baseline, its costs, its uses and its cached stages.

    Where data are missing or malformed the plan begins with the reason, and the exit code is that of `run`.
    """
    convention, part = convention_named(flops), PartNames(arms, seeds, tasks)
    declared, name, scales = choose_any(experiment, scale, settings or (), factories_of or ())
    if isinstance(declared, LatencyExperiment):
        if as_json:
            _print(latency_plan_document(declared, name, convention))
        else:
            show_latency_plan(declared, name, convention)
        return
    chosen = Chosen(declared, name, scales, command_of(experiment, name, settings or ()))
    places = results_of(out, declared.experiment, name, settings or ())
    found = plan_of(chosen, convention, places, store, part.of(declared))
    if as_json:
        _print(plan_document(chosen, found, convention))
    else:
        show_plan(chosen, found, convention)
    if found.refusal is not None:
        raise typer.Exit(found.refusal.exit_code)


def _print(document: dict[str, JsonValue]) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))  # noqa: T201 - the requested output


def planned(  # noqa: PLR0913, PLR0917 — one argument per option of the command
    experiment: Path,
    scale: str | None,
    out: Path | None = None,
    settings: Sequence[str] = (),
    convention: Convention = MATMUL,
    objects: str = "",
    factories_of: Sequence[str] = (),
    part: PartNames = ALL,
) -> dict[str, JsonValue]:
    """Return the plan as plain data. Raises ConfigurationError with every mistake of the file and the settings."""
    declared, name, scales = choose_any(experiment, scale, settings, factories_of)
    if isinstance(declared, LatencyExperiment):
        return latency_plan_document(declared, name, convention)
    chosen = Chosen(declared, name, scales, command_of(experiment, name, settings or ()))
    places = results_of(out, declared.experiment, name, settings)
    return plan_document(chosen, plan_of(chosen, convention, places, objects, part.of(declared)), convention)
