"""Measures latency: in each round, one forward pass of every arm, in an order that is drawn for each round.

This is the only stage whose result depends on a clock. On a CPU it is the CPU time of this process, which has one
thread: the time of other processes is not counted, although they may evict its data from the caches. On a GPU, which
runs asynchronously, it is the wall time between two synchronisations. Random orders and paired rounds distribute
drift, such as that of the clock rate, over all arms.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from runners.stages.context import StageContext
from runners.stages.stage import THREADS, ArmsMeasurementStage, Stage
from search_space.architecture import Architecture
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.latency import Latency, LatencyResult, Machine, Part, part_flops
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.canonical import differences, fingerprint
from steeplechase.foundation.devices import Device, is_gpu
from steeplechase.foundation.environment import manifest
from steeplechase.foundation.errors import ConflictError, MachineError
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.foundation.schema import Count, JsonValue, Name, Seed
from steeplechase.ledger.records import Record, with_results

if TYPE_CHECKING:
    from torch import Tensor, nn

CODE_DIGITS = 12
SOURCES = (".py", ".c", ".h")
ForwardPass = Callable[[], object]


class LatencyStage(ArmsMeasurementStage):
    """Measure the latency of one part of every arm at one sequence length. Reads nothing.

    All arms are in one stage: ratios are paired by round, and a round runs every arm once in one process.
    """

    stage: ClassVar[str] = "latency"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    uses_kernels: ClassVar[bool] = True
    exclusive: ClassVar[bool] = True
    arms: Mapping[Name, Architecture]
    part: Part
    length: Count
    """Tokens of a sequence, without padding."""
    batch_sequences: Count
    rounds: Count
    warm_up_rounds: int
    seed: Seed
    device: Device
    precision: Literal["float32", "bfloat16"]
    machine: Machine
    """What latency depends on besides the declaration: processor, device, versions, a hash of the model code."""

    @classmethod
    def by_label(cls, experiment: Experiment, machine: Machine | None = None) -> dict[str, Stage]:
        """Return the stages of an experiment, on this machine: one per length, so that a kill loses one at most."""
        timing = experiment.measure.settings(Latency)
        assert timing is not None
        machine = machine or this_machine(timing.device)
        arms = timing.timed({arm.name: arm.candidate for arm in experiment.arms})
        fields = {name: getattr(timing, name) for name in cls.model_fields if name in type(timing).model_fields}
        return {
            str(StageLabel(cls.stage, length=length)): Stage(cls(arms=arms, length=length, machine=machine, **fields))
            for length in timing.lengths
        }

    @property
    def computes_on(self) -> Device:
        """The processor's place: the stage names its own machine, whose card is part of that."""
        return "cpu"

    @property
    def own_flops(self) -> float:
        """FLOPs of all rounds."""
        sequence = sum(part_flops(arm, self.part, self.length) for arm in self.arms.values())
        return float(sequence * self.batch_sequences * (self.warm_up_rounds + self.rounds))

    def refuse_beside(self, ledger: str, records: Iterable[Record]) -> None:
        """Raise ConflictError, with the differences, if the times in a ledger are from another machine."""
        for _, recorded in with_results(records, LatencyResult):
            differing = [*differences(recorded.machine.model_dump(), self.machine.model_dump(), "machine")]
            if differing:
                first = f"{ledger}: holds times of another machine; nothing was changed. What differs:"
                remedy = "Did you mean another --out folder?"
                raise ConflictError([first, *(f"  {line}" for line in differing), remedy])

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return the seconds of every arm in every round. Raises MachineError if the clock is too coarse."""
        passes = {arm: _forward_pass(self, architecture) for arm, architecture in self.arms.items()}
        arms, rounds = tuple(passes), self.warm_up_rounds + self.rounds
        seconds: dict[str, list[float]] = {arm: [] for arm in arms}
        orders = stream(self.seed, "order of the arms", self.length)
        with _timing_conditions():
            for number in range(rounds):
                for position in orders.permutation(len(arms)):
                    elapsed = _seconds(passes[arms[position]], is_gpu(self.device))
                    if number >= self.warm_up_rounds:
                        seconds[arms[position]].append(elapsed)
                context.progress("timing", (number + 1) / rounds)  # between rounds, outside the measured time
        if any(value <= 0 for values in seconds.values() for value in values):
            remedy = "raise measure.latency.batch_sequences"
            raise MachineError(f"the clock is too coarse for length {self.length}: {remedy}")
        result = LatencyResult(
            length=self.length,
            arms=arms,
            seconds={arm: tuple(values) for arm, values in seconds.items()},
            machine=self.machine,
        )
        return result.model_dump(mode="json")


def this_machine(device_name: Device) -> Machine:
    """Return what latency depends on besides the architecture. Raises MachineError if the device is missing."""
    import torch

    from steeplechase.models.devices import open_device
    from steeplechase.models.kernels.native.build import arithmetic

    device, environment = open_device(device_name), manifest()
    gpu = is_gpu(device_name)
    return Machine(
        processor=str(environment["processor"]),
        system=str(environment["system"]),
        instructions=torch.backends.cpu.get_cpu_capability(),
        device=torch.get_device_module(device).get_device_name(device) if gpu else "cpu",
        threads=THREADS,
        clock="wall time between synchronisations" if gpu else "CPU time of the process",
        python=str(environment["python"]),
        torch=torch.__version__,
        operators=arithmetic(),
        code=_code_hash(),
    )


def _forward_pass(stage: LatencyStage, architecture: Architecture) -> ForwardPass:
    """Return a function that runs the part on one batch; parts of equal sizes have equal weights and inputs."""
    import torch

    from steeplechase.models.devices import open_device
    from steeplechase.models.initialisation import initialise

    part = _part(stage.part, architecture).eval()
    initialise(part, stage.seed)
    options = {"device": open_device(stage.device), "dtype": getattr(torch, stage.precision)}
    generator = torch.Generator().manual_seed(stream_seed(stage.seed, "inputs", stage.length))
    x = torch.randn(stage.batch_sequences, stage.length, architecture.width, generator=generator).to(**options)
    part.to(**options)

    def forward() -> Tensor:
        output: Tensor = part(x, None)
        return output

    return forward


def _part(part: Part, architecture: Architecture) -> nn.Module:
    """Return the first block, or its attention; the blocks of a timed architecture are equal."""
    from steeplechase.models.block import Block
    from steeplechase.models.sublayer import build_sublayer

    block = architecture.blocks[0]
    if part == "attention":
        return build_sublayer(block[0], 0.0)
    return Block(block, architecture.normalisation, 0.0, first=True)


def _seconds(forward: ForwardPass, gpu: bool) -> float:
    """Return the seconds of one forward pass, by the clock of the device."""
    import torch

    if not gpu:
        start = time.process_time_ns()
        forward()
        return (time.process_time_ns() - start) / 1e9
    torch.accelerator.synchronize()
    start = time.perf_counter_ns()
    forward()
    torch.accelerator.synchronize()
    return (time.perf_counter_ns() - start) / 1e9


@contextmanager
def _timing_conditions() -> Iterator[None]:
    """Context without gradients, garbage collection and deterministic algorithms, on one thread.

    A worker asks for deterministic algorithms, but with them torch fills all new memory, which takes time.
    """
    import torch

    threads, deterministic = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(THREADS)
    torch.set_deterministic_debug_mode("default")
    gc.collect()
    gc.disable()
    try:
        with torch.inference_mode():
            yield
    finally:
        gc.enable()
        torch.set_deterministic_debug_mode(deterministic)
        torch.set_num_threads(threads)


def _code_hash() -> str:
    """Return a hash of the source of the models, including that of the compiled operators."""
    from steeplechase import models

    folder = Path(models.__path__[0])
    files = sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)
    return fingerprint({str(file.relative_to(folder)): sha256_of(file) for file in files})[:CODE_DIGITS]
