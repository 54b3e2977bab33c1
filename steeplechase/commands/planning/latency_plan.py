"""Plan of a latency experiment: the FLOPs of every arm at every length."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from reports.number_format import fixed, scientific
from reports.sanitise import printable
from search_space.cost import Convention
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.latency import LatencyExperiment, part_flops, part_parameters
from steeplechase.foundation.schema import JsonValue, canonical_text


@dataclass(frozen=True)
class _Cost:
    """Parameters and FLOPs of the timed part of one arm; FLOPs of one sequence, by length."""

    arm: Arm
    parameters: int
    flops: Mapping[int, int]
    ratios: Mapping[int, float]
    """To the baseline's FLOPs."""


def _costs(experiment: LatencyExperiment, convention: Convention) -> list[_Cost]:
    timing = experiment.timing
    costs: list[_Cost] = []
    for arm in experiment.candidates:
        architecture = arm.candidate.architecture
        flops = {length: part_flops(architecture, timing.part, length, convention) for length in timing.lengths}
        of_baseline = costs[0].flops if costs else flops
        ratios = {length: flops[length] / of_baseline[length] for length in timing.lengths}
        costs.append(_Cost(arm, part_parameters(architecture, timing.part), flops, ratios))
    return costs


def latency_plan_document(experiment: LatencyExperiment, scale: str, convention: Convention) -> dict[str, JsonValue]:
    """Return the plan for other programs."""
    arms: list[JsonValue] = [
        {
            "name": cost.arm.name,
            "changes": {**cost.arm.changes},
            "parameters": cost.parameters,
            "flops": {str(length): flops for length, flops in cost.flops.items()},
            "flops_ratio": {str(length): ratio for length, ratio in cost.ratios.items()},
        }
        for cost in _costs(experiment, convention)
    ]
    return {
        "experiment": experiment.experiment,
        "scale": scale,
        "part": experiment.timing.part,
        "flops_convention": convention.name,
        "arms": arms,
    }


def show_latency_plan(experiment: LatencyExperiment, scale: str, convention: Convention) -> None:
    """Show every arm's FLOPs at every length and their ratio to the baseline's."""
    console, timing = Console(), experiment.timing
    heading = f"{experiment.experiment} at scale {scale}: {experiment.question}"
    console.print(printable(heading), markup=False, style="bold")
    costs = _costs(experiment, convention)
    table = Table(box=None, pad_edge=False)
    for title in ("arm", "parameters", *(f"n = {length}" for length in timing.lengths)):
        table.add_column(title, justify="left" if title == "arm" else "right", no_wrap=title == "arm")
    for cost in costs:
        flops = (f"{scientific(cost.flops[at])} ({fixed(cost.ratios[at], 3)})" for at in timing.lengths)
        table.add_row(cost.arm.name, f"{cost.parameters:,}", *flops)
    console.print(table)
    for cost in costs:
        changes = ", ".join(f"{path}: {_plain(value)}" for path, value in cost.arm.changes.items())
        console.print(f"{cost.arm.name}: {changes or 'no change'}", markup=False, highlight=False)
    work = f"{len(timing.lengths)} lengths x {len(costs)} arms x {timing.rounds} rounds"
    console.print(f"{work}, batches of {timing.batch_sequences}; timed: the {timing.part}", markup=False)
    note = f"FLOPs of one sequence, in brackets those of {experiment.baseline} as 1, counted as {convention.name}"
    console.print(f"{note}: {convention.rule}", markup=False, style="dim")


def _plain(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return canonical_text(value)
    return " ".join(f"{name} {_plain(inner)}" for name, inner in value.items()).replace('"', "").removeprefix("kind ")
