"""`steeplechase plan`: every arm and what it costs, before anything is spent."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from commands.arguments import (
    Chosen,
    ExperimentFile,
    FlopsName,
    Scale,
    asks_for_time,
    choose,
    choose_timing,
    convention_named,
)
from commands.timing import plan_timing
from runners.designs import Search
from runners.designs.arm import Arm
from search_space.declaration import JsonValue, canonical_text
from search_space.operations import MATMUL, Convention


def plan(
    experiment: ExperimentFile,
    scale: Scale = None,
    flops: FlopsName = MATMUL.name,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Show every arm, its difference from the baseline, and what it costs."""
    convention = convention_named(flops)
    if asks_for_time(experiment):
        return plan_timing(choose_timing(experiment, scale), convention, as_json)
    chosen = choose(experiment, scale)
    if as_json:
        print(json.dumps(_document(chosen, convention), indent=2, ensure_ascii=False))  # noqa: T201
    else:
        _show(chosen, convention)
    return None


def _document(chosen: Chosen, convention: Convention) -> dict[str, JsonValue]:
    arms: list[JsonValue] = [_row(chosen, arm, convention) for arm in chosen.experiment.arms]
    return {
        "experiment": chosen.experiment.experiment,
        "scale": chosen.scale,
        "flops_convention": convention.name,
        "arms": arms,
    }


def _row(chosen: Chosen, arm: Arm, convention: Convention) -> dict[str, JsonValue]:
    baseline, tokens = chosen.experiment.baseline, chosen.experiment.pretraining.tokens
    architecture = arm.candidate.architecture
    return {
        "name": arm.name,
        "changes": {**arm.changes},
        "parameters": architecture.parameters,
        "forward_flops": architecture.forward_flops(arm.candidate.recipe.sequence_length, convention),
        "train_flops": arm.candidate.train_flops(tokens, baseline.architecture, convention),
    }


def _show(chosen: Chosen, convention: Convention) -> None:
    console = Console()
    experiment = chosen.experiment
    heading = f"{experiment.experiment} at scale {chosen.scale}, FLOPs by {convention.name}: {experiment.question}"
    console.print(heading, markup=False, style="bold")
    table = Table(box=None, pad_edge=False)
    for heading in ("arm", "changes", "parameters", "forward FLOPs", "train FLOPs"):
        table.add_column(heading, justify="left" if heading in ("arm", "changes") else "right", overflow="fold")
    for arm in experiment.arms:
        row = _row(chosen, arm, convention)
        changes = ", ".join(f"{path}: {_short(value)}" for path, value in arm.changes.items()) or "none"
        table.add_row(
            arm.name, changes, f"{row['parameters']:,}", _power(row["forward_flops"]), _power(row["train_flops"])
        )
    console.print(table)
    console.print(_work(chosen), markup=False)
    console.print(f"FLOPs counted as {convention.name}: {convention.rule}", markup=False, style="dim")


def _work(chosen: Chosen) -> str:
    experiment, design = chosen.experiment, chosen.experiment.design
    arms = design.candidates_in_all if isinstance(design, Search) else len(experiment.arms)
    seeds, tuning = len(experiment.pretraining.seeds), experiment.fine_tuning
    fine_tunings = len(tuning.tasks) * len(tuning.seeds)
    searched = f" (searched over {', '.join(design.space)})" if isinstance(design, Search) else ""
    return (
        f"{arms} arms{searched} x {seeds} pretraining seeds of {experiment.pretraining.tokens:,} tokens, "
        f"then {fine_tunings} fine-tunings each"
    )


def _short(value: JsonValue) -> str:
    if isinstance(value, dict) and "kind" in value:
        rest = ", ".join(f"{name} {inner}" for name, inner in value.items() if name != "kind")
        return f"{value['kind']} ({rest})" if rest else str(value["kind"])
    return canonical_text(value)


def _power(number: JsonValue) -> str:
    assert isinstance(number, int)
    return f"{number:.2e}".replace("e+", "e")
