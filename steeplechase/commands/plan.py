"""`steeplechase plan`: arms, costs, cached stages and predicted time, without running anything."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from runners.plan import Plan, plan_of
from runners.settings import Selection
from search_space.cost import MATMUL, Convention
from steeplechase.commands.arguments import (
    Chosen,
    ExperimentFile,
    FlopsName,
    choose,
    convention_named,
    with_flags_of,
    with_places,
)
from steeplechase.commands.output import print_json
from steeplechase.commands.planning.document import plan_document
from steeplechase.commands.planning.text import show_plan
from steeplechase.foundation.schema import JsonValue


@with_flags_of(Selection)
def plan(
    experiment: ExperimentFile,
    settings: Selection,
    flops: FlopsName = MATMUL.name,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Show every arm, its difference from the baseline, its costs, its uses and its cached stages.

    Where data are missing or malformed the plan begins with the reason, and the exit code is that of `run`.
    """
    convention = convention_named(flops)
    chosen, found = _plan_of(experiment, settings, convention)
    if as_json:
        print_json(plan_document(chosen, found, convention))
    else:
        show_plan(chosen, found, convention)
    if found.refusal is not None:
        raise typer.Exit(found.refusal.exit_code)


def planned(experiment: Path, settings: Selection) -> dict[str, JsonValue]:
    """Return the plan as plain data. Raises ConfigurationError with every mistake of the file and the overrides."""
    return plan_document(*_plan_of(experiment, settings, MATMUL), MATMUL)


def _plan_of(file: Path, settings: Selection, convention: Convention) -> tuple[Chosen, Plan]:
    chosen = choose(file, settings.scale, settings.overrides, settings.factories_of)
    found = plan_of(chosen.experiment, settings, convention, chosen.scale, settings.command(file, chosen.scale))
    if found.refusal is not None:
        found = replace(found, refusal=with_places(found.refusal, file, settings.scale, settings.overrides))
    return chosen, found
