"""Plan of `measure.latency`: parameters and FLOPs of the timed part of every arm at every length."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from reports.number_format import fixed, scientific
from search_space.cost import Convention
from steeplechase.configuration.arm import changes_text
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import Latency, part_flops, part_parameters
from steeplechase.foundation.schema import JsonValue


@dataclass(frozen=True)
class _Cost:
    """Parameters and FLOPs of the timed part of one arm; FLOPs of one sequence, by length."""

    arm: str
    parameters: int
    flops: Mapping[int, int]
    ratios: Mapping[int, float]
    """To the baseline's FLOPs."""


def _costs(experiment: Experiment, timing: Latency, convention: Convention) -> list[_Cost]:
    costs: list[_Cost] = []
    for name, architecture in timing.timed({arm.name: arm.candidate for arm in experiment.arms}).items():
        flops = {length: part_flops(architecture, timing.part, length, convention) for length in timing.lengths}
        of_baseline = costs[0].flops if costs else flops
        ratios = {length: flops[length] / of_baseline[length] for length in timing.lengths}
        costs.append(_Cost(name, part_parameters(architecture, timing.part), flops, ratios))
    return costs


def timed_document(experiment: Experiment, convention: Convention) -> dict[str, JsonValue]:
    """Return the timed part for other programs; empty where nothing is timed."""
    timing = experiment.measure.latency
    if timing is None:
        return {}
    arms: list[JsonValue] = [
        {
            "name": cost.arm,
            "parameters": cost.parameters,
            "flops": {str(length): flops for length, flops in cost.flops.items()},
            "flops_ratio": {str(length): ratio for length, ratio in cost.ratios.items()},
        }
        for cost in _costs(experiment, timing, convention)
    ]
    return {"timed": {"part": timing.part, "lengths": [*timing.lengths], "rounds": timing.rounds, "arms": arms}}


def show_timed(console: Console, experiment: Experiment, convention: Convention) -> None:
    """Print every arm's FLOPs at every length and their ratio to the baseline's; nothing where nothing is timed."""
    timing = experiment.measure.latency
    if timing is None:
        return
    costs = _costs(experiment, timing, convention)
    table = Table(box=None, pad_edge=False)
    for title in ("timed", "parameters", *(f"n = {length}" for length in timing.lengths)):
        table.add_column(title, justify="left" if title == "timed" else "right", no_wrap=title == "timed")
    for cost in costs:
        flops = (f"{scientific(cost.flops[at])} ({fixed(cost.ratios[at], 3)})" for at in timing.lengths)
        table.add_row(cost.arm, f"{cost.parameters:,}", *flops)
    console.print(table)
    for line in (*_changes(experiment, timing), *_work(timing, len(costs))):
        console.print(line, highlight=False)


def _changes(experiment: Experiment, timing: Latency) -> Iterator[str]:
    """Yield the changes of the arms, where no table of trials has them."""
    if experiment.has_trials:
        return
    for arm in experiment.arms[1:]:
        yield f"{arm.name}: {changes_text(arm.changes)}"
    if timing.control is not None:
        yield f"{timing.control}: equal to {timing.baseline}"


def _work(timing: Latency, arms: int) -> Iterator[str]:
    work = f"{len(timing.lengths)} lengths x {arms} arms x {timing.rounds} rounds"
    yield f"{work}, batches of {timing.batch_sequences}; timed: the {timing.part}, on this machine"
    yield f"FLOPs of one sequence, in brackets those of {timing.baseline} as 1"
