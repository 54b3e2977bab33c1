"""Time every arm once per round, in an order drawn anew, one pass at a time. The one file with a clock in its result.

On a processor the clock is the CPU time of this process, which runs on one thread: what other programs take is not
counted, though what they push out of the caches is. A GPU works beside the process, so there it is wall time between
two synchronisations. Random orders and paired rounds spread what drifts, such as the clock rate, over all arms.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

import models
from foundation.atomic_files import sha256_of
from foundation.environment import manifest
from foundation.errors import MachineError
from foundation.randomness import stream, stream_seed
from foundation.schema import JsonValue, fingerprint
from ledger.stage_results import LatencyResult, Machine
from models.attention import MixedAttention
from models.devices import open_device
from models.encoder import Block
from models.initialisation import initialise
from models.kernels.native.build import arithmetic
from runners.stages.context import StageContext
from runners.stages.declarations import LatencyStage
from runners.stages.stage import THREADS
from search_space.architecture import Architecture

CODE_DIGITS = 12
SOURCES = (".py", ".c", ".h")
Pass = Callable[[], object]


def compute(stage: LatencyStage, context: StageContext) -> dict[str, JsonValue]:
    """Return the seconds of every arm in every round. Raises MachineError where the clock is too coarse."""
    passes = {arm: _pass(stage, architecture) for arm, architecture in stage.arms.items()}
    arms, rounds = tuple(passes), stage.warm_up_rounds + stage.rounds
    seconds: dict[str, list[float]] = {arm: [] for arm in arms}
    orders = stream(stage.seed, "order of the arms", stage.length)
    with _undisturbed():
        for number in range(rounds):
            for position in orders.permutation(len(arms)):
                took = _seconds(passes[arms[position]], stage.device == "cuda")
                if number >= stage.warm_up_rounds:
                    seconds[arms[position]].append(took)
            context.progress("timing", (number + 1) / rounds)  # between rounds, so that it is never timed
    if any(took <= 0 for each in seconds.values() for took in each):
        raise MachineError(f"the clock is too coarse for length {stage.length}: raise timing.batch_sequences")
    timed = {arm: tuple(each) for arm, each in seconds.items()}
    return LatencyResult(length=stage.length, arms=arms, seconds=timed, machine=stage.machine).model_dump(mode="json")


def this_machine(device_name: Literal["cpu", "cuda"]) -> Machine:
    """Return what the seconds will depend on. Raises MachineError where the device is missing."""
    device, found = open_device(device_name), manifest()
    gpu = device.type == "cuda"
    return Machine(
        processor=str(found["processor"]),
        system=str(found["system"]),
        instructions=torch.backends.cpu.get_cpu_capability(),
        device=torch.cuda.get_device_name(device) if gpu else "cpu",
        threads=THREADS,
        clock="wall time between synchronisations" if gpu else "CPU time of the process",
        python=str(found["python"]),
        torch=torch.__version__,
        operators=arithmetic(),
        code=_code(),
    )


def _pass(stage: LatencyStage, architecture: Architecture) -> Pass:
    """Return a call that passes one batch through the part; equal sizes get equal weights and inputs."""
    part = {"attention": MixedAttention, "block": Block}[stage.part](architecture, 0.0).eval()
    initialise(part, stage.seed)
    kind = {"device": open_device(stage.device), "dtype": getattr(torch, stage.precision)}
    generator = torch.Generator().manual_seed(stream_seed(stage.seed, "inputs", stage.length))
    x = torch.randn(stage.batch_sequences, stage.length, architecture.width, generator=generator).to(**kind)
    part.to(**kind)

    def passed() -> Tensor:
        out: Tensor = part(x, None)
        return out

    return passed


def _seconds(passed: Pass, gpu: bool) -> float:
    if not gpu:
        start = time.process_time_ns()
        passed()
        return (time.process_time_ns() - start) / 1e9
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    passed()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / 1e9


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Run on one thread, record no gradients and collect no garbage.

    Without deterministic algorithms, which a worker asks for: torch then fills all new memory, on the clock.
    """
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


def _code() -> str:
    """Return a hash of the source of the models, the compiled operators' included."""
    folder = Path(models.__path__[0])
    files = sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)
    return fingerprint({str(file.relative_to(folder)): sha256_of(file) for file in files})[:CODE_DIGITS]
