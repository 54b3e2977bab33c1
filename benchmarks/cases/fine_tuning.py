"""An epoch of fine-tuning on GLUE's mix of lengths: our stage, compared with every example padded to 128.

The mix has equal shares of the eight tasks that ELECTRA and ConvBERT report.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.cases.encoder import architecture
from benchmarks.cases.glue_lengths import read_lengths
from benchmarks.measuring import FULL_SIZE, TOLERANCES, Figure, Pace, Row, Size, check, compare, speed_figure
from runners.computing import fine_tune
from runners.computing.batches import epoch_batches
from runners.stages.context import ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers.adamw import adamw
from steeplechase.ledger.paths import CHECKPOINT
from steeplechase.models.downstream_model import FineTuned, build_fine_tuned
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.encoding import EncodedExamples, save_examples

REACH = 2.5
TASK = "docs_pair"  # any task with two labels; only lengths matter here
BATCH_EXAMPLES = 32  # ELECTRA, appendix A


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row, for the narrow model."""
    name = f"fine-tuning epoch, GLUE's lengths, h={size.widths[-1]}, {size.examples} examples"
    yield Row(name, f"the same stage, padded to {size.length}", REACH, lambda pace: _measure(size, pace))


def examples_of(lengths: NDArray[np.int32], size: Size) -> EncodedExamples:
    """Return random examples of these lengths, in `size.length` tokens each."""
    random = np.random.default_rng(1)
    count, is_token = len(lengths), np.arange(size.length)[None] < lengths[:, None]
    tokens = random.integers(5, size.vocabularies[0], (count, size.length), dtype=np.int32) * is_token
    unused = np.full(count, -1, np.int32)
    return EncodedExamples(
        tokens=tokens.astype(np.int32),
        segments=np.zeros((count, size.length), np.int32),
        lengths=lengths,
        labels=random.integers(0, 2, count, dtype=np.int32),
        starts=unused,
        ends=unused,
        offsets=np.zeros((count, 0, 2), np.int32),
        seconds=(),
        answers=(),
        truncated=0,
        answers_lost=0,
    )


def agree(model: FineTuned, examples: EncodedExamples, size: Size) -> None:
    """Compare the logits of the first examples, trimmed to their longest and padded. Raises Disagreement."""
    chosen = slice(0, size.batch)
    longest = int(examples.lengths[chosen].max())
    results = []
    for length in (longest, size.length):
        tokens = torch.from_numpy(examples.tokens[chosen, :length].astype(np.int64))
        padding_mask = torch.arange(length)[None] < torch.from_numpy(examples.lengths[chosen])[:, None]
        with torch.no_grad():
            results.append(model(tokens, torch.zeros_like(tokens), padding_mask))
    check("logits with and without padding", results[0], results[1], TOLERANCES[torch.float32])


def _measure(size: Size, pace: Pace) -> Figure:
    lengths, source = read_lengths(size.examples, size.length)
    examples = examples_of(lengths, size)
    # without a mask the padded examples cost the same, since masked attention is not cheaper
    padded = replace(examples, lengths=np.full_like(lengths, size.length))
    stage = _stage(size)
    task = find_task(stage.task)
    model = build_fine_tuned(stage.architecture, task.head_form, task.outputs, stage.pooling, stage.dropout)
    initialise(model, 1)
    agree(model, examples, size)
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(Path(folder) / CHECKPOINT, model, adamw(model, 0.0), {})
        sides = [_epoch(Path(folder), name, each, stage) for name, each in (("ours", examples), ("padded", padded))]
        compared = compare(sides[0], sides[1], pace)
    share = size.length / float(lengths.mean())
    note = f"{source}, mean {lengths.mean():.1f} tokens, {share:.2f} times fewer"
    unpadded = f"without any padding {padded_share(examples, stage):.2f} times fewer than ours"
    return speed_figure(compared, None, f"{note}; {unpadded}")


def padded_share(examples: EncodedExamples, stage: FineTuneStage) -> float:
    """Return the tokens of an epoch's batches, each padded to its longest example, by those that are no padding.

    It bounds what unpadded batches could save: batches of similar lengths have little padding.
    """
    lengths = np.asarray(examples.lengths)
    padded = sum(len(rows) * int(lengths[rows].max()) for rows in epoch_batches(examples, stage, 0))
    return padded / int(lengths.sum())


def _stage(size: Size) -> FineTuneStage:
    return FineTuneStage(
        architecture=architecture(size, size.widths[-1]),
        task=TASK,
        pretraining_seed=1,
        seed=1,
        epochs=1,
        batch_examples=BATCH_EXAMPLES,
        peak_learning_rate=1e-4,
        warmup_share=0.1,
        pooling="first",
        weight_decay=0.0,
        dropout=0.0,
    )


def _epoch(folder: Path, name: str, examples: EncodedExamples, stage: FineTuneStage) -> Callable[[], object]:
    """Return a run of the stage: one epoch of training, and one prediction."""
    first = {each: getattr(examples, each)[:1] for each in ("tokens", "segments", "lengths", "labels")}
    single_example = replace(
        examples, **first, starts=examples.starts[:1], ends=examples.ends[:1], offsets=examples.offsets[:1]
    )
    for part, chosen in (("train", examples), ("dev", single_example)):
        (folder / name / part).mkdir(parents=True)
        save_examples(chosen, folder / name / part)
    inputs = {"examples": folder / name, "pretrained": folder}
    context = StageContext(inputs, folder / name, ProgressFile(folder / name / "progress.json"))
    return lambda: fine_tune.compute(stage, context)
