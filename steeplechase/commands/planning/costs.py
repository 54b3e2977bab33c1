"""Lines of `plan` on costs: hours and memory on GPUs, timed parts, and new source encoders."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from rich.console import Console
from rich.table import Table

from reports.number_format import fixed, scientific
from runners.cost_estimate.gpu_hours import (
    SECONDS_A_LAUNCH,
    UTILISATION,
    GpuHours,
    memory_by_arm,
    trial_work,
    usual_cards,
)
from runners.plan import Plan
from runners.remaining import candidates_like
from search_space.cards import Card
from search_space.cost import Convention
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import first_stage_parameters_count, parameters_with_source_encoder, update_flops
from steeplechase.configuration.arm import changes_text
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import SourceEncoder
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.configuration.measurements.latency import Latency, part_flops, part_parameters
from steeplechase.foundation.devices import is_gpu
from steeplechase.foundation.schema import JsonValue

FROM_FLOPS = 1e16  # minutes of a GPU


def gpu_lines(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """Yield the plan's GPU hours and what a trial needs of a card; nothing of an experiment for a laptop."""
    flops = _train_flops(experiment, plan)
    if not _is_for_gpus(experiment, flops):
        return
    seeds, tuning_trials = plan.values_per_cell[0], 0 if plan.tuning is None else plan.tuning.trials
    for card, every, slowest in _hours_by_card(experiment, plan):
        trial = f"; a trial at most {_hours(slowest.total)}" if seeds * len(plan.arms) > 1 else ""
        yield (
            f"{card.name}, estimated: {_hours(every.total)} GPU hours, {_hours(every.pretraining)} of pretraining "
            f"and {_hours(every.fine_tuning)} of fine-tuning{trial}"
        )
    tuned = f"; of {tuning_trials} tuning trials pretraining alone" if tuning_trials else ""
    yield (
        f"these hours: the longer of {scientific(round(flops))} FLOPs of pretraining at {UTILISATION:.0%} of the "
        f"peak and {SECONDS_A_LAUNCH * 1e6:g} µs for each kernel, shared by the cards{tuned}. Finished stages on the "
        "same card replace the estimate"
    )
    memory = memory_by_arm(experiment)
    if memory:
        name = max(memory, key=lambda each: memory[each])
        yield f"memory of a GPU: at least {memory[name] / 2**30:,.1f} GiB for {name}, the largest"


def gpu_document(experiment: Experiment, plan: Plan) -> dict[str, JsonValue]:
    """Return the same for other programs; empty of an experiment for a laptop."""
    if not _is_for_gpus(experiment, _train_flops(experiment, plan)):
        return {}
    hours: dict[str, JsonValue] = {}
    for card, every, slowest in _hours_by_card(experiment, plan):
        hours[card.name] = {
            "pretraining_hours": every.pretraining,
            "fine_tuning_hours": every.fine_tuning,
            "longest_trial_hours": slowest.total,
        }
    return {"gpu": {"estimated": hours, "least_memory_bytes": {**memory_by_arm(experiment)}}}


def _hours_by_card(experiment: Experiment, plan: Plan) -> Iterator[tuple[Card, GpuHours, GpuHours]]:
    """Yield the usual cards with the hours of all trials, and those of the longest."""
    works = [trial_work(experiment, row.arm.candidate) for row in plan.arms]
    counts = [plan.values_per_cell[0] * candidates_like(experiment, row.arm) for row in plan.arms]
    for card in usual_cards() if works else ():
        trials = [work.hours(card) for work in works]
        every = sum((hours.times(count) for hours, count in zip(trials, counts, strict=True)), GpuHours(0.0, 0.0))
        if plan.tuning is not None:
            share = plan.tuning.trials * plan.tuning.tokens / experiment.pretraining.tokens
            every += GpuHours(share * fmean(hours.pretraining for hours in trials), 0.0)
        yield card, every, max(trials, key=lambda hours: hours.total)


def _is_for_gpus(experiment: Experiment, train_flops: float) -> bool:
    on_gpu = any(is_gpu(arm.candidate.recipe.device) for arm in experiment.arms)
    return experiment.has_trials and (on_gpu or train_flops >= FROM_FLOPS)


def _train_flops(experiment: Experiment, plan: Plan) -> float:
    seeds, tuning = plan.values_per_cell[0], 0 if plan.tuning is None else plan.tuning.train_flops
    return tuning + seeds * sum(row.train_flops * candidates_like(experiment, row.arm) for row in plan.arms)


def _hours(hours: float) -> str:
    return f"{hours:,.2g}" if hours < 100 else f"{hours:,.0f}"


def source_encoders(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each different source encoder, its costs with the baseline, and the tasks that have it."""
    tuning, architecture = experiment.fine_tuning, experiment.baseline.architecture
    if not isinstance(architecture, EncoderDecoderArchitecture):
        return
    tasks_of: dict[tuple[SourceEncoder, int], list[str]] = {}
    for task in tuning.tasks:
        settings = settings_of(tuning, task)
        encoder = settings.generation.source_encoder
        if encoder is not None and tuning.find(task).form == "text_pair":
            tasks_of.setdefault((encoder, settings.sequence_length), []).append(task)
    for (encoder, length), tasks in tasks_of.items():
        yield f"source encoder of {', '.join(tasks)}: {_encoder_costs(encoder, architecture, length)}"


def _encoder_costs(encoder: SourceEncoder, architecture: EncoderDecoderArchitecture, length: int) -> str:
    own, share = encoder.vocabulary_size, encoder.first_stage_share
    source = encoder.architecture(architecture, own or architecture.vocabulary_size)
    vocabulary = "the vocabulary of pretraining" if own is None else f"a vocabulary of {own:,} of its own"
    whole = parameters_with_source_encoder(architecture, source)
    first = first_stage_parameters_count(architecture, source)
    flops = [update_flops(architecture, source, length, first_stage=stage) for stage in (True, False)]
    stages = [
        f"{share:.0%} of the updates train {first:,} of {whole:,} parameters ({flops[0]:.2e} FLOPs per pair)",
        f"{1 - share:.0%} train all ({flops[1]:.2e})",
    ]
    trained = "; ".join(stage for stage, part in zip(stages, (share, 1 - share), strict=True) if part)
    return f"depth {encoder.depth}, {source.parameters:,} parameters, {vocabulary}; {trained}"


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
    timing = experiment.measure.settings(Latency)
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
    timing = experiment.measure.settings(Latency)
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
