"""Predictions of a part beside its references, with labels by name, as a user's metrics read them.

Scores of tasks that are evaluated on a frozen encoder, from the predictions that their stage wrote.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import layers_file, other_parts, predictions_file, scores_name
from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import load_examples
from steeplechase.tasks.labelled.forms import PairScores, accuracy_by_group, load_groups, load_text_pairs, load_words
from steeplechase.tasks.labelled.scoring import references_of, score_pairs, score_tags
from steeplechase.tasks.labelled.task import DownstreamTask


def frozen_scores(task: DownstreamTask, examples: Path, predicted: Path) -> dict[str, JsonValue]:
    """Return the scores of every part, and of dev by phenomenon or by layer."""
    of_part = _of_pairs if task.method == "minimal_pairs" else _of_words
    result: dict[str, JsonValue] = {}
    for part in ("dev", *other_parts(examples)):
        scores, details = of_part(task, examples, predicted, part)
        result[scores_name(part)] = {**scores}
        result |= details if part == "dev" else {}
    return result


Scored = tuple[dict[str, float], dict[str, JsonValue]]
"""Scores by metric, and what else is reported of dev."""


def _of_pairs(task: DownstreamTask, examples: Path, predicted: Path, part: str) -> Scored:
    scores: PairScores = [(good, bad) for good, bad in json.loads((predicted / predictions_file(part)).read_text())]
    groups = accuracy_by_group(scores, load_groups(examples / part))
    return score_pairs(task, scores), {"groups": {name: 100 * share for name, share in groups.items()}}


def _of_words(task: DownstreamTask, examples: Path, predicted: Path, part: str) -> Scored:
    words = load_words(examples / part)

    def scores(predictions: list[int]) -> dict[str, float]:
        return score_tags(task, predictions, words.tags, words.sentences)

    found = scores(json.loads((predicted / predictions_file(part)).read_text()))
    if part != "dev":
        return found, {}
    layers = json.loads((predicted / layers_file(part)).read_text())
    return found, {"layers": [scores(layer)[task.metrics[0]] for layer in layers if task.metrics[0] in found]}


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
