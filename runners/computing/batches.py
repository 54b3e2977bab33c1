"""The batches of a fine-tuning: a function of both seeds, and not of the arm."""

import numpy as np
from numpy.typing import NDArray

from runners.stages.fine_tune import FineTuneStage
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.labelled.encoding import EncodedExamples


def epoch_batches(train: EncodedExamples, stage: FineTuneStage, epoch: int) -> list[NDArray[np.int64]]:
    """Return the example indices of every batch of one epoch: similar lengths in a batch, batches in random order."""
    random = stream(stage.root_seed, "fine-tuning order", epoch)
    shuffled = random.permutation(len(train))
    by_length = shuffled[np.argsort(train.longest[shuffled] // 8, kind="stable")]
    batches = [
        by_length[first : first + stage.batch_examples] for first in range(0, len(train), stage.batch_examples)
    ]
    return [batches[position] for position in random.permutation(len(batches))]
