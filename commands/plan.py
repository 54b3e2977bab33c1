"""`steeplechase plan`: arms, costs, cached stages and predicted time, without running anything."""

import json
from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import Chosen, ExperimentFile, FlopsName, Scale, choose_any, convention_named, folder_named
from commands.planning.latency_plan import latency_plan_document, show_latency_plan
from commands.planning.plan_contents import plan_document, plan_of
from commands.planning.plan_view import show_plan
from configuration.latency import LatencyExperiment
from foundation.schema import JsonValue
from ledger.paths import ResultPaths
from search_space.cost import MATMUL, Convention

PlannedFolder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where `run` would put it: its cache is read.", parser=folder_named),
]


def plan(
    experiment: ExperimentFile,
    scale: Scale = None,
    flops: FlopsName = MATMUL.name,
    out: PlannedFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Show every arm, its difference from the baseline, its costs, its uses and its cached stages."""
    convention = convention_named(flops)
    declared, name, scales = choose_any(experiment, scale)
    if isinstance(declared, LatencyExperiment):
        _plan_latency(declared, name, convention, as_json)
    else:
        _plan_training(Chosen(declared, name, scales), convention, out, as_json)


def _plan_latency(experiment: LatencyExperiment, scale: str, convention: Convention, as_json: bool) -> None:
    if as_json:
        _print_json(latency_plan_document(experiment, scale, convention))
    else:
        show_latency_plan(experiment, scale, convention)


def _plan_training(chosen: Chosen, convention: Convention, out: Path | None, as_json: bool) -> None:
    places = ResultPaths.of(out) if out else ResultPaths.default(chosen.experiment.experiment, chosen.scale)
    contents = plan_of(chosen, convention, places)
    if as_json:
        _print_json(plan_document(chosen, contents, convention))
    else:
        show_plan(chosen, contents, convention)


def _print_json(document: JsonValue) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))  # noqa: T201
