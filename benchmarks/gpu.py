"""GPU benchmarks: the operator and a training step compared with transformers, and trials that share one GPU.

Usage: python -m benchmarks.gpu, on a machine with a CUDA device; writes benchmarks/published/gpu.json.
All in bfloat16 or its autocast. Times are from CUDA events around repeated calls, so they include the launch overhead
of a training loop; the sides alternate, and a ratio has the interval of its median.
"""

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils import clip_grad_norm_

from benchmarks.measuring import Interval, Work, check, median_interval
from benchmarks.references import conv_bert
from runners.training.optimisers.adamw import adamw
from runners.training.optimisers.parameter_groups import set_rate
from search_space.cards import card_named
from search_space.released.models import PRESETS
from steeplechase.foundation.errors import MachineError
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.encoder import Encoder

PUBLISHED = Path(__file__).parent / "published/gpu.json"
DEVICE = torch.device("cuda")
PRECISION, TOLERANCE = torch.bfloat16, 3e-2
SMALL = PRESETS["convbert-small"].candidate
PAIRS, PAIR_SECONDS, MOST_CALLS = 11, 0.1, 1000
OPERATORS = {"small": (128, 128, 2), "base": (256, 128, 6), "long": (64, 512, 6)}  # sequences, tokens, heads
HEAD_DIM, KERNEL_SIZE = 64, 9
FORWARD_AND_BACKWARD = 3  # operations of a training pass in units of a forward pass
PRODUCT_SIDE = 8192
UTILISATION = "model FLOPs utilisation"
SHARING, TRIAL_SEQUENCES, WARM_UP = (1, 2, 4, 8), 32, 10
WINDOWS, WINDOW_SECONDS, PATIENCE = 11, 2.0, 600.0


@dataclass(frozen=True)
class Row:
    """A line of gpu.json: a ratio or a speed with its interval; `reach` is the target."""

    name: str
    unit: str
    figure: Interval
    reach: float | None = None
    note: str = ""


def main() -> int:
    """Measure, print and write; on an unsuitable machine, print the error in one line and return its exit code."""
    console = Console()
    try:
        card = _card()
    except MachineError as refusal:
        console.print(*refusal.lines, soft_wrap=True)
        return refusal.exit_code
    rows = []
    for row in (*operator_rows(), *step_rows(card), *sharing_rows()):
        figure = row.figure
        console.print(
            f"{row.name}: {figure.ratio:.4g} [{figure.low:.4g}, {figure.high:.4g}] {row.unit}; {row.note}",
            soft_wrap=True,
        )
        rows.append(asdict(row))
    PUBLISHED.parent.mkdir(exist_ok=True)
    PUBLISHED.write_text(json.dumps({"card": card, "torch": torch.__version__, "rows": rows}, indent=2) + "\n")
    return 0


def _card() -> str:
    if not torch.cuda.is_available():
        raise MachineError("benchmarks.gpu: this machine has no CUDA device")
    if find_spec("triton") is None:
        raise MachineError("benchmarks.gpu: Triton is not installed; pip install triton as torch's own pin says")
    return torch.cuda.get_device_name(DEVICE)


def operator_rows() -> Iterator[Row]:
    """Yield time and memory of the operator, forward and backward, for shapes of the published models."""
    for name, (sequences, length, heads) in OPERATORS.items():
        ours, theirs = operators(sequences, length, heads)
        for part, our_tensor, their_tensor in zip(
            ("output", "to values", "to logits"), ours(), theirs(), strict=True
        ):
            check(part, our_tensor.flatten(), their_tensor.flatten(), TOLERANCE)
        shape = f"operator, {name}: B{sequences} T{length} {heads}x{HEAD_DIM} k{KERNEL_SIZE}"
        ratio, (our_seconds, _) = compare(ours, theirs)
        note = f"ours {statistics.median(our_seconds) * 1e6:.0f} microseconds"
        yield Row(shape, "their time / our time", ratio, 10, note)
        yield Row(shape, "our / their peak bytes", _exact(peak_bytes(ours) / peak_bytes(theirs)), 1 / 8)
        yield Row(shape, "our / their saved bytes", _exact(saved_bytes(ours) / saved_bytes(theirs)), 1 / 8)


def operators(sequences: int, length: int, heads: int) -> tuple[Callable[[], tuple[Tensor, ...]], ...]:
    """Return our operator and theirs on the same inputs; each returns its output and both gradients."""
    from steeplechase.models.kernels.triton_window import span_window

    random = torch.Generator(DEVICE).manual_seed(1)
    widths = (heads * HEAD_DIM, heads * KERNEL_SIZE, heads * HEAD_DIM)
    values, logits, gradient = (
        torch.randn(sequences, length, width, generator=random, device=DEVICE, dtype=PRECISION) for width in widths
    )
    values.requires_grad_(), logits.requires_grad_()

    def ours() -> tuple[Tensor, ...]:
        out = span_window(values.unflatten(-1, (heads, -1)), logits.unflatten(-1, (heads, -1))).flatten(-2)
        return (out, *torch.autograd.grad(out, (values, logits), gradient))

    def theirs() -> tuple[Tensor, ...]:
        out = conv_bert.span_dynamic_operator(values, logits, KERNEL_SIZE)
        return (out, *torch.autograd.grad(out, (values, logits), gradient))

    return ours, theirs


def step_rows(card: str) -> Iterator[Row]:
    """Yield the speed of ConvBERT-small's training step, without its generator, and its use of the card."""
    recipe = SMALL.recipe
    ours, theirs = discriminators()
    our_step, their_step = (training_step(each, recipe.batch_sequences) for each in (ours, theirs))
    check("loss before the first update", our_step().detach(), their_step().detach(), TOLERANCE)
    ratio, (our_seconds, _) = compare(our_step, their_step)
    note = f"ours {recipe.tokens_per_step / statistics.median(our_seconds):,.0f} tokens/s"
    yield Row("ConvBERT-small's training step, no generator", "our tokens/s / their tokens/s", ratio, 4, note)
    forward = recipe.batch_sequences * SMALL.architecture.forward_flops(recipe.sequence_length)
    speeds = [FORWARD_AND_BACKWARD * forward / seconds for seconds in our_seconds]
    product = product_speed()
    note = f"{statistics.median(speeds) / 1e12:.4g} of {product / 1e12:.4g} TFLOP/s, {PRODUCT_SIDE}-square matrices"
    yield Row(UTILISATION, "of a measured product", median_interval([each / product for each in speeds]), 0.25, note)
    if (known := card_named(card)) is not None:
        shares = [each / known.bfloat16 for each in speeds]
        yield Row(UTILISATION, "of the data sheet", median_interval(shares), 0.25, card)


def product_speed() -> float:
    """Return the operations per second of a large matrix product."""
    matrix = torch.randn(PRODUCT_SIDE, PRODUCT_SIDE, device=DEVICE, dtype=PRECISION)
    return 2 * PRODUCT_SIDE**3 / statistics.median(event_seconds(lambda: matrix @ matrix, 10) for _ in range(PAIRS))


class Discriminator(nn.Module):
    """An encoder, ours or theirs, with one logit per token, as in ELECTRA."""

    def __init__(self, encoder: nn.Module, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(width, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit per token."""
        states = self.encoder(tokens)
        logits: Tensor = self.head(states if isinstance(states, Tensor) else states[0])
        return logits.squeeze(-1)


def discriminators() -> tuple[Discriminator, Discriminator]:
    """Return ours and theirs with the same weights, without dropout."""
    architecture = SMALL.architecture
    torch.manual_seed(1)
    theirs = Discriminator(conv_bert.build(architecture), architecture.width)
    encoder = Encoder(architecture, 0.0)
    conv_bert.copy_weights(theirs.encoder, encoder)
    ours = Discriminator(encoder, architecture.width)
    ours.head.load_state_dict(theirs.head.state_dict())
    return ours.to(DEVICE).train(), theirs.to(DEVICE).train()


def training_step(discriminator: Discriminator, sequences: int) -> Callable[[], Tensor]:
    """Return a full update on one batch, which returns the loss: gradients, clipping and AdamW included."""
    random = torch.Generator().manual_seed(1)
    shape = (sequences, SMALL.recipe.sequence_length)
    tokens = torch.randint(SMALL.architecture.vocabulary_size, shape, generator=random).to(DEVICE)
    replaced = torch.randint(2, shape, generator=random).float().to(DEVICE)
    optimiser = adamw(discriminator, SMALL.recipe.weight_decay)
    set_rate(optimiser, SMALL.recipe.peak_learning_rate)

    def step() -> Tensor:
        with torch.autocast(DEVICE.type, PRECISION):
            loss = binary_cross_entropy_with_logits(discriminator(tokens), replaced)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip_grad_norm_(discriminator.parameters(), SMALL.recipe.gradient_norm_limit)
        optimiser.step()
        return loss

    return step


def sharing_rows() -> Iterator[Row]:
    """Yield the total tokens per second of concurrent trials, each in its own process."""
    context = get_context("spawn")
    for trials in SHARING:
        with context.Manager() as manager, ProcessPoolExecutor(trials, context) as pool:
            start = manager.Barrier(trials)
            futures = [pool.submit(trial_speeds, start) for _ in range(trials)]
            together = [sum(speeds) for speeds in zip(*(future.result() for future in futures), strict=True)]
        note = f"ConvBERT-small, {TRIAL_SEQUENCES} sequences a step; the driver's own time slicing unless MPS runs"
        yield Row(f"{trials} trials on one card", "tokens/s together", median_interval(together), None, note)


def trial_speeds(start: Barrier) -> list[float]:
    """Return the tokens per second of one trial in each window; all trials start a window together."""
    step, tokens, speeds = training_step(discriminators()[0], TRIAL_SEQUENCES), SMALL.recipe.sequence_length, []
    for _ in range(WARM_UP):
        step()
    for _ in range(WINDOWS):
        torch.cuda.synchronize()
        start.wait(PATIENCE)
        began, steps = time.monotonic(), 0
        while time.monotonic() - began < WINDOW_SECONDS:
            step().item()  # a training loop reads its loss
            steps += 1
        speeds.append(steps * TRIAL_SEQUENCES * tokens / (time.monotonic() - began))
    return speeds


def compare(ours: Work, theirs: Work) -> tuple[Interval, tuple[list[float], list[float]]]:
    """Return the ratio of their time to ours, and the seconds of both; the order alternates."""
    sides = (ours, theirs)
    taken: tuple[list[float], list[float]] = ([], [])
    for side in sides:
        event_seconds(side, 3)  # compiles, and fills the allocator's cache
    calls = [min(MOST_CALLS, math.ceil(PAIR_SECONDS / event_seconds(side, 3))) for side in sides]
    for pair in range(PAIRS):
        for number in (0, 1) if pair % 2 == 0 else (1, 0):
            taken[number].append(event_seconds(sides[number], calls[number]))
    return median_interval([their / our for our, their in zip(*taken, strict=True)]), taken


def event_seconds(work: Work, calls: int) -> float:
    """Return the seconds of one call between two CUDA events."""
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    for _ in range(calls):
        work()
    after.record()
    after.synchronize()
    return float(before.elapsed_time(after)) / 1e3 / calls  # milliseconds


def peak_bytes(work: Work) -> int:
    """Return the peak memory of work, minus the memory allocated before."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _exact(ratio: float) -> Interval:
    return Interval(ratio, ratio, ratio, 1)


if __name__ == "__main__":
    sys.exit(main())
