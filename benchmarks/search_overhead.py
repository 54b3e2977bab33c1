"""Overhead of a search at many candidates: CPU time of the driver's decisions, and its memory; nothing is trained.

The losses are random numbers, so that the scheduler, the hurdle and the sampler are all that runs. Reaches: less than
1% of trials of two seconds, 99 of 100 decisions in 5 ms, at most 5 kB of memory a candidate.
Usage: python -m benchmarks.search_overhead [CANDIDATES [SAMPLER or POLICY [COHORT [HURDLE]]]]
"""

import random
import sys
import time
import tracemalloc
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from runners.replay.simulated import SimulatedStages
from runners.scheduler import Step, next_step, proposed_step
from runners.scheduling.rows import Fact, Row
from runners.scheduling.state import RunState
from steeplechase.configuration.designs.search import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.policies import POLICIES
from steeplechase.configuration.pretraining import Pretraining
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.stage_results import PretrainResult

EXPERIMENT = Path(__file__).parents[1] / "experiments/search.yaml"
TRIAL_SECONDS = 2.0
DROPOUTS = tuple(number / 1000 for number in range(200))
DECAYS = tuple(number / 500 for number in range(100))
EVOLUTION = {"mutation_rate": 0.5}


@dataclass
class Course:
    """The steps of a search by what they hold, with the CPU seconds that each took; arrays hold 8 bytes of each."""

    seconds: "dict[str, array[float]]" = field(default_factory=dict)
    applied: "array[float]" = field(default_factory=lambda: array("d"))
    """Of rows that were added to the state, one by one."""
    trials: int = 0
    memory: int = 0
    """Traced bytes that are held at its end, where allocations are traced."""

    @property
    def total(self) -> float:
        """CPU seconds of the driver."""
        return sum(map(sum, self.seconds.values())) + sum(self.applied)


def experiment_of(candidates: int, proposer: str, cohort: int, hurdle: str) -> Experiment:
    """Return a search with enough points, by a sampler or a policy, under a hurdle at the shipped rungs."""
    shipped = load_experiment(EXPERIMENT, "smoke")
    space = {"recipe.dropout": DROPOUTS, "recipe.weight_decay": DECAYS, "bottleneck_ratio": (1, 2, 4)}
    chosen: dict[str, object] = {"cohort": cohort, "sampler": proposer}
    if proposer in POLICIES:
        chosen = {"policy": proposer, "trainings": float(candidates), "tournament": EVOLUTION}
        hurdle = "pause"
    rungs = shipped.pretraining.rung_tokens
    settings = shipped.pretraining.model_dump() | {"hurdle": {"kind": hurdle, "rungs": rungs}, "audit": None}
    return shipped.with_parts(
        design=(Search.model_validate({"space": space, "max_candidates": candidates} | chosen),),
        pretraining=Pretraining.model_validate(settings),
    )


def searched(experiment: Experiment) -> Course:
    """Return the course of a search whose stages end at once, in the order in which they may start."""
    state, course, draws = RunState(experiment, SimulatedStages({}), EXPERIMENT), Course(), random.Random(1)
    while True:
        began = time.process_time()
        step = next_step(state)
        kind = _kind(step)
        if step.requested_proposals is not None:
            step = proposed_step(state, step.requested_proposals)
        course.seconds.setdefault(kind, array("d")).append(time.process_time() - began)
        facts = (Fact(name, value) for name, value in step.facts.items())
        rows: Sequence[Row] = [*step.arms, *step.trials, *step.decisions, *facts]
        if not rows and not step.ready:
            course.trials, course.memory = len(state.trials), tracemalloc.get_traced_memory()[0]
            return course
        if not rows:
            task = step.ready[0]
            result = PretrainResult(tokens=64, held_out_loss=4 + draws.random())
            known = (task.trial, "pretrain", task.label, task.stage.key, Status.FINISHED, result)
            rows = [Record(len(course.applied) + 1, *known, seconds=1.0, reused=False)]
        for row in rows:
            began = time.process_time()
            state.apply(row)
            course.applied.append(time.process_time() - began)


def _kind(step: Step) -> str:
    if step.requested_proposals is not None:
        return "proposals of a cohort"
    if step.decisions:
        return "decisions"
    return "stages that may run" if step.ready else "other rows"


def memory_of(candidates: int, proposer: str, cohort: int, hurdle: str) -> float:
    """Return the bytes that the second half of a search's candidates adds to what the driver holds, by candidate."""
    tracemalloc.start()
    half, whole = (
        searched(experiment_of(number, proposer, cohort, hurdle)) for number in (candidates // 2, candidates)
    )
    tracemalloc.stop()
    return (whole.memory - half.memory) / (whole.trials - half.trials)


def main(candidates: int, proposer: str, cohort: int, hurdle: str) -> None:
    """Measure and print one table."""
    course = searched(experiment_of(candidates, proposer, cohort, hurdle))
    title = f"{course.trials} trials, {proposer} under {hurdle}, cohort {cohort}: CPU milliseconds of the driver"
    table = Table("step", "number", "mean", "99 of 100 within", "largest", title=title)
    for kind, seconds in {**course.seconds, "row applied": course.applied}.items():
        ordered = sorted(1000 * each for each in seconds)
        mean, within = sum(ordered) / len(ordered), ordered[int(0.99 * len(ordered))]
        table.add_row(kind, str(len(ordered)), f"{mean:.2f}", f"{within:.2f}", f"{ordered[-1]:.2f}")
    share = course.total / course.trials / TRIAL_SECONDS
    console = Console()
    console.print(table)
    console.print(f"{1000 * course.total / course.trials:.2f} ms a trial, {share:.2%} of two seconds")
    traced = max(2 * cohort, candidates // 10)
    console.print(f"{memory_of(traced, proposer, cohort, hurdle) / 1000:.1f} kB a candidate, of {traced} candidates")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else 10_000,
        given[1] if len(given) > 1 else "random",
        int(given[2]) if len(given) > 2 else 100,
        given[3] if len(given) > 3 else "progressive_mean",
    )
