"""Scores of tasks that are evaluated on a frozen encoder, from the predictions that their stage wrote."""

import json
from pathlib import Path

from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import layers_file, other_parts, predictions_file, scores_name
from steeplechase.tasks.labelled.forms import load_groups, load_words
from steeplechase.tasks.labelled.scoring import PairScores, accuracy_by_group, score_pairs, score_tags
from steeplechase.tasks.labelled.task import DownstreamTask

Scored = tuple[dict[str, float], dict[str, JsonValue]]
"""Scores by metric, and what else is reported of dev."""


def frozen_scores(task: DownstreamTask, examples: Path, predicted: Path) -> dict[str, JsonValue]:
    """Return the scores of every part, and of dev by phenomenon or by layer."""
    of_part = _of_pairs if task.method == "minimal_pairs" else _of_words
    result: dict[str, JsonValue] = {}
    for part in ("dev", *other_parts(examples)):
        scores, details = of_part(task, examples, predicted, part)
        result[scores_name(part)] = {**scores}
        result |= details if part == "dev" else {}
    return result


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
