"""A user's metrics of a part: its predictions beside its references, with labels by name."""

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.encoding import load_examples
from steeplechase.tasks.labelled.forms import load_text_pairs, load_words
from steeplechase.tasks.labelled.scoring import references_of
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_metrics import name_of, own_scores

UNDEFINED = "the function gives NaN for the predictions"


def own_metric_scores(
    own: Sequence[str],
    task: DownstreamTask,
    part: Path,
    predictions: Sequence[Any],
    reporting: NDArray[np.bool_] | None,
) -> tuple[dict[str, float], dict[str, str]]:
    """Return a user's metrics of the examples of a part that are reported on, of all without a mask of them.

    Beside them, why some have no value: the function gives NaN for these predictions, or fails.
    """
    references, predicted = named_pairs(task, part, predictions)
    rows = np.arange(len(references)) if reporting is None else np.flatnonzero(reporting)
    sides = [references[row] for row in rows.tolist()], [predicted[row] for row in rows.tolist()]
    scores: dict[str, float] = {}
    absent: dict[str, str] = {}
    for reference in own:
        try:
            found = own_scores(reference, *sides)
        except DataError as failed:
            absent[name_of(reference)] = f"the function fails for the predictions ({failed.lines[0]})"
            continue
        absent |= {name: UNDEFINED for name, value in found.items() if isnan(value)}
        scores |= {name: value for name, value in found.items() if not isnan(value)}
    return scores, absent


def named_pairs(task: DownstreamTask, part: Path, predictions: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return references and predictions of a labelled part, one per example; of tags one list per sentence."""
    if task.form == "text_pair":
        return load_text_pairs(part).references, predictions
    if task.form == "tags":
        words = load_words(part)
        references: list[list[str]] = [[] for _ in range(len(words.sequences))]
        predicted: list[list[str]] = [[] for _ in range(len(words.sequences))]
        for sentence, reference, prediction in zip(words.sentences, words.tags, predictions, strict=True):
            references[sentence].append(task.labels[reference])
            predicted[sentence].append(task.labels[prediction])
        return references, predicted
    labels = references_of(task, load_examples(part))
    assert labels is not None
    if task.form == "span" or task.value_range is not None:
        return labels, predictions
    return [task.labels[int(each)] for each in labels], [task.labels[int(each)] for each in predictions]
