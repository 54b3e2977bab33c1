"""The batches of a fine-tuning: a function of both seeds, and not of the arm."""

import numpy as np
from numpy.typing import NDArray

from runners.stages.fine_tune import FineTuneStage
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.tasks.labelled.encoding import EncodedExamples


def root_seed(stage: FineTuneStage) -> int:
    """Return the seed of all random streams of a fine-tuning; it depends on both seeds and not on the arm."""
    return stream_seed(stage.pretraining_seed, "fine-tuning", stage.seed)


def epoch_batches(train: EncodedExamples, stage: FineTuneStage, epoch: int) -> list[NDArray[np.int64]]:
    """Return the example indices of every batch of one epoch: similar lengths in a batch, batches in random order."""
    random = stream(root_seed(stage), "fine-tuning order", epoch)
    shuffled = random.permutation(len(train))
    by_length = shuffled[np.argsort(train.longest[shuffled] // 8, kind="stable")]
    batches = [
        by_length[first : first + stage.batch_examples] for first in range(0, len(train), stage.batch_examples)
    ]
    return [batches[position] for position in random.permutation(len(batches))]
