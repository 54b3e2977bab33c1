"""What one GPU does with the training loop as it is: sections in order of value, a line of JSON for each finding.

Usage: python -m benchmarks.gpu_check [SECTION ...], or `make gpu-check`; ten minutes on one card. With `--rehearse`
the same code runs on the processor with small sizes, and its times mean nothing. A section that fails is a line too.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from runners.computing.execute import _set_numerics
from runners.training.compilation import compiled_terms
from runners.training.loop import Step, TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.cards import card_named
from search_space.packing.sequences import Text
from search_space.released.models import PRESETS
from steeplechase.foundation.devices import accelerator, card
from steeplechase.foundation.errors import MachineError
from steeplechase.tasks.contracts.small_candidates import NAMES, WORDS, mentions, text
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.packing import sequences_of

Finding = dict[str, object]
REHEARSAL = {"batch_sequences": 2, "sequence_length": 16, "device": "cpu", "precision": "float32"}
WARM_UP, UPDATES, REHEARSED = 10, 100, 2
CHANGES: tuple[dict[str, object], ...] = (
    {"precision": "bfloat16"},
    {"precision": "bfloat16", "compile": False},
    {"precision": "tensorfloat32"},
    {"deterministic": False},
)
MODELS = ("convbert-small", "electra-small", "convbert-base")


def trained(name: str, rehearse: bool, updates: int, **recipe: Any) -> tuple[list[Step], float, Any]:
    """Return updates of a released model on a synthetic text, their seconds after a warm-up, and its candidate."""
    candidate = PRESETS[name].candidate
    changes = {"device": "cuda", "precision": "bfloat16", **recipe, **(REHEARSAL if rehearse else {})}
    own = type(candidate.recipe).model_validate({**candidate.recipe.model_dump(), **changes})
    candidate = candidate.model_copy(update={"recipe": own})
    _set_numerics(own.precision, own.deterministic)
    stream = np.tile(text(), 64)
    read = Text(stream, np.arange(0, len(stream) - 1, 5), WORDS, own.sequence_length, mentions(), NAMES)
    generator = candidate.objective.generator_of(candidate.architecture, candidate.architecture)
    model = build_model(candidate, generator, 1)
    data = TrainingData(candidate, sequences_of(read, candidate.objective), WORDS, 1, 1e9)
    optimiser, steps = build_optimiser(model, own), list[Step]()
    warm = min(WARM_UP, updates)
    with compiled_terms(model, candidate):
        train(model, data, optimiser, range(warm), steps.append)
        began = time.monotonic()
        train(model, data, optimiser, range(warm, warm + updates), steps.append, reads_model=lambda number: False)
        return steps, time.monotonic() - began, candidate


def repeated(rehearse: bool) -> Iterator[Finding]:
    """Yield whether two runs of one trial have the same losses bit for bit."""
    for precision in ("bfloat16", "float32"):
        runs = [trained("convbert-small", rehearse, REHEARSED if rehearse else 30, precision=precision) for _ in "ab"]
        one, other = ([step.loss for step in steps] for steps, *_ in runs)
        yield {"precision": precision, "equal": one == other, "last_losses": [one[-1], other[-1]]}


def loop(rehearse: bool) -> Iterator[Finding]:
    """Yield the speed, the use of the card and the peak memory of the training loop, compiled and not."""
    known = card_named(card())
    for name in MODELS:
        for changes in CHANGES:
            if not rehearse:
                torch.cuda.reset_peak_memory_stats()
            updates = REHEARSED if rehearse else UPDATES
            _, seconds, candidate = trained(name, rehearse, updates, **changes)
            tokens = updates * candidate.recipe.tokens_per_step
            flops = candidate.train_flops(tokens, candidate.architecture)
            peak = None if known is None else known.peak(candidate.recipe.precision)
            yield {
                "model": name,
                **changes,
                "milliseconds_an_update": 1e3 * seconds / updates,
                "tokens_per_second": tokens / seconds,
                "model_flops_utilisation": None if peak is None else flops / seconds / peak,
                "peak_bytes": None if rehearse else torch.cuda.max_memory_allocated(),
            }


def peers(rehearse: bool) -> Iterator[Finding]:
    """Yield the rows of `benchmarks.gpu` against transformers."""
    if rehearse:
        return
    from benchmarks import gpu

    for row in (*gpu.operator_rows(), *gpu.step_rows(card())):
        yield {"name": row.name, "unit": row.unit, "median": row.figure.ratio, "reach": row.reach, "note": row.note}


def packing(rehearse: bool) -> Iterator[Finding]:
    """Yield the tokens per second of trials that share the card."""
    if rehearse:
        return
    from benchmarks import gpu

    for row in gpu.sharing_rows():
        yield {"name": row.name, "unit": row.unit, "median": row.figure.ratio, "note": row.note}


SECTIONS: dict[str, Callable[[bool], Iterator[Finding]]] = {
    each.__name__: each for each in (repeated, loop, peers, packing)
}


def main(words: list[str]) -> int:
    """Print the findings of the named sections, by default all; return 5 without a GPU."""
    rehearse = "--rehearse" in words
    names = [word for word in words if word in SECTIONS] or [*SECTIONS]
    if not rehearse and not torch.cuda.is_available():
        (line,) = MachineError("benchmarks.gpu_check: this machine has no CUDA device; --rehearse needs none").lines
        sys.stderr.write(f"{line}\n")
        return MachineError.exit_code
    write({"section": "machine", **accelerator(), "torch": torch.__version__, "rehearsal": rehearse})
    for name in names:
        began = time.monotonic()
        try:
            for finding in SECTIONS[name](rehearse):
                write({"section": name, **finding})
        except Exception as error:
            write({"section": name, "error": f"{type(error).__name__}: {error}".partition("\n")[0]})
        write({"section": name, "seconds": round(time.monotonic() - began, 1)})
    return 0


def write(finding: Finding) -> None:
    """Print a finding as a line of JSON at once."""
    sys.stdout.write(f"{json.dumps(finding)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
