"""Predictions of a part beside its references, with labels by name, as a user's metrics read them."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import load_examples
from steeplechase.tasks.labelled.forms import load_text_pairs, load_words
from steeplechase.tasks.labelled.scoring import references_of
from steeplechase.tasks.labelled.task import DownstreamTask

Halves = Callable[[], NDArray[np.bool_]]
"""Returns which examples are in the half that a hyperparameter search selects on."""


def named_pairs(
    task: DownstreamTask, part: Path, predictions: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any], Halves]:
    """Return references and predictions of a labelled part, one per example; of tags one list per sentence."""
    if task.form == "text_pair":
        pairs = load_text_pairs(part)
        return pairs.references, predictions, partial(selection_half, pairs.sources)
    if task.form == "tags":
        words = load_words(part)
        references: list[list[str]] = [[] for _ in range(len(words.sequences))]
        predicted: list[list[str]] = [[] for _ in range(len(words.sequences))]
        for sentence, reference, prediction in zip(words.sentences, words.tags, predictions, strict=True):
            references[sentence].append(task.labels[reference])
            predicted[sentence].append(task.labels[prediction])
        return references, predicted, partial(selection_half, words.sequences)
    examples = load_examples(part)
    labels = references_of(task, examples)
    assert labels is not None
    halves = partial(selection_half, examples)
    if task.form == "span" or task.value_range is not None:
        return labels, predictions, halves
    return [task.labels[int(each)] for each in labels], [task.labels[int(each)] for each in predictions], halves
