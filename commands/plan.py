"""`steeplechase plan`: arms, costs, cached stages and predicted time, without running anything."""

import json
from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import (
    ChosenTiming,
    ExperimentFile,
    FlopsName,
    Scale,
    choose_any,
    convention_named,
    folder_named,
)
from commands.planning.plan_contents import plan_document, plan_of
from commands.planning.plan_view import show_plan
from commands.timing import plan_timing
from ledger.paths import ResultPaths
from search_space.cost import MATMUL

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
    """Show every arm, its difference from the baseline, what it costs and fills, and what is in the cache."""
    convention = convention_named(flops)
    chosen = choose_any(experiment, scale)
    if isinstance(chosen, ChosenTiming):
        return plan_timing(chosen, convention, as_json)
    places = ResultPaths.of(out) if out else ResultPaths.default(chosen.experiment.experiment, chosen.scale)
    contents = plan_of(chosen, convention, places)
    if as_json:
        print(json.dumps(plan_document(chosen, contents, convention), indent=2, ensure_ascii=False))  # noqa: T201
    else:
        show_plan(chosen, contents, convention)
    return None
