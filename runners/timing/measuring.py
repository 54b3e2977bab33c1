"""The stopwatch: every arm once per round, in an order drawn anew, one pass at a time. The one file that times.

On a processor the clock is the CPU time of this process, which runs on one thread: what other programs take is not
counted, though what they push out of the caches is. A GPU works beside the process, so there it is wall time between
two synchronisations. Random orders and paired rounds spread what drifts, such as the clock rate, over all arms.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

import models
from configuration.timing.experiment import TimingExperiment
from foundation.atomic_files import sha256_of
from foundation.environment import manifest
from foundation.errors import MachineError
from foundation.randomness import stream, stream_seed
from foundation.schema import fingerprint
from ledger.timing.record import Machine, Measured
from models.attention import MixedAttention
from models.devices import open_device
from models.encoder import Block
from models.initialisation import initialise
from models.kernels.native.build import arithmetic
from search_space.architecture import Architecture

THREADS = 1
CODE_DIGITS = 12
SOURCES = (".py", ".c", ".h")
Pass = Callable[[], object]
Watch = Callable[[int], None]
"""Called between rounds with the rounds of this length that are done, warm-up included."""


def measure(experiment: TimingExperiment, length: int, watch: Watch) -> Measured:
    """Time every arm at one length. Raises MachineError where the device or its clock cannot do it."""
    timing = experiment.timing
    passes = {arm.name: _pass(experiment, arm.candidate.architecture, length) for arm in experiment.candidates}
    seconds: dict[str, list[float]] = {arm: [] for arm in passes}
    orders = stream(timing.seed, "order of the arms", length)
    with _undisturbed():
        for number in range(timing.warm_up_rounds + timing.rounds):
            for position in orders.permutation(len(passes)):
                arm = list(passes)[position]
                took = _seconds(passes[arm], timing.device == "cuda")
                if number >= timing.warm_up_rounds:
                    seconds[arm].append(took)
            watch(number + 1)
    if any(took <= 0 for each in seconds.values() for took in each):
        raise MachineError(f"the clock is too coarse for length {length}: raise timing.batch_sequences")
    return Measured(length=length, seconds={arm: tuple(each) for arm, each in seconds.items()})


def this_machine(experiment: TimingExperiment) -> Machine:
    """Return what the seconds will depend on. Raises MachineError where the device is missing."""
    device, found = open_device(experiment.timing.device), manifest()
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


def _pass(experiment: TimingExperiment, architecture: Architecture, length: int) -> Pass:
    """Return a call that passes one batch through the part; equal sizes get equal weights and inputs."""
    timing = experiment.timing
    part = {"attention": MixedAttention, "block": Block}[timing.part](architecture, 0.0).eval()
    initialise(part, timing.seed)
    kind = {"device": open_device(timing.device), "dtype": getattr(torch, timing.precision)}
    generator = torch.Generator().manual_seed(stream_seed(timing.seed, "inputs", length))
    x = torch.randn(timing.batch_sequences, length, architecture.width, generator=generator).to(**kind)
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
    """Run on one thread, record no gradients and collect no garbage."""
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    gc.collect()
    gc.disable()
    try:
        with torch.inference_mode():
            yield
    finally:
        gc.enable()
        torch.set_num_threads(threads)


def _code() -> str:
    """Return a hash of the source of the models, the compiled operators' included."""
    folder = Path(models.__path__[0])
    files = sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)
    return fingerprint({str(file.relative_to(folder)): sha256_of(file) for file in files})[:CODE_DIGITS]
