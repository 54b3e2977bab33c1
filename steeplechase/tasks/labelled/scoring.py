"""Scores of a task's predictions on the scale of the GLUE and SQuAD tables: metrics times 100.

Named entities: precision, recall and F1 as in conlleval (Tjong Kim Sang and De Meulder 2003,
aclanthology.org/W03-0419); an entity is correct if its words and its type are. Tags are IOB1 or IOB2: an entity
begins at a B, and at an I that follows another type or no entity.

Supersenses: precision, recall and F1 of tagged words, the measures of DiMSUM's dimsumeval.py (Schneider et al. 2016,
aclanthology.org/S16-1084, section 4). A word's supersense is correct if it is predicted at that word; words without
one, tagged `O`, count only where one is predicted.

Minimal pairs: the share whose acceptable sentence is more probable (BLiMP, arXiv 1912.00582).
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

import numpy as np

from steeplechase.tasks.labelled.encoding import (
    EncodedExamples,
)
from steeplechase.tasks.labelled.forms import OUTSIDE, EncodedWords
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.labelled.without_value import without_value
from steeplechase.tasks.metrics import accuracy, exact_match, f1, macro_f1, matthews, overlap_f1, pearson, spearman

_LABEL_METRICS: dict[str, Callable[[Sequence[int], Sequence[int]], float]] = {
    "matthews": matthews,
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
}
_VALUE_METRICS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "pearson": pearson,
    "spearman": spearman,
}
_ANSWER_METRICS: dict[str, Callable[[str, str], float]] = {"f1": overlap_f1, "exact_match": exact_match}
TIE = 0.5  # accuracy of a pair with equal scores, so that a constant score is at chance
PairScores = Sequence[tuple[float, float]]
"""Per pair, the log-probabilities of the acceptable and the unacceptable sentence, in nats."""
Entity = tuple[int, int, int, str]
"""Sentence, first word, one past the last word, type."""


def score(
    task: DownstreamTask, predictions: Sequence[float] | Sequence[str], references: Sequence[float] | Sequence[str]
) -> dict[str, float]:
    """Return each of the task's metrics times 100: of labels or values, or of answer texts for spans.

    A metric that the references give no value (`without_value`) is left out. Raises ValueError if there are no
    references or the numbers of predictions and references differ.
    """
    if len(predictions) != len(references) or not references:
        raise ValueError(f"{task.name}: {len(predictions)} predictions for {len(references)} references")
    if task.form == "span":
        pairs = [
            (str(prediction), str(reference)) for prediction, reference in zip(predictions, references, strict=True)
        ]
        return {metric: 100 * fmean(_ANSWER_METRICS[metric](*pair) for pair in pairs) for metric in task.metrics}
    absent = without_value(task, references)
    metrics = [metric for metric in task.metrics if metric not in absent]
    if task.value_range is not None:
        values, targets = [float(value) for value in predictions], [float(value) for value in references]
        return {metric: 100 * _VALUE_METRICS[metric](values, targets) for metric in metrics}
    predicted, expected = [int(label) for label in predictions], [int(label) for label in references]
    return {metric: 100 * _LABEL_METRICS[metric](predicted, expected) for metric in metrics}


def example_scores(
    task: DownstreamTask, predictions: Sequence[float] | Sequence[str], references: Sequence[float] | Sequence[str]
) -> dict[str, Sequence[float]]:
    """Return the scores of each example, from 0 to 1, by metric; for a regression task, the predictions.

    Labels have `accuracy`, 1 for a correct label; answers have each of the task's metrics. Values have `prediction`,
    because a correlation is not a mean over examples.
    """
    if task.value_range is not None:
        return {"prediction": [float(value) for value in predictions]}
    pairs = list(zip(predictions, references, strict=True))
    if task.form == "span":
        return {
            metric: [_ANSWER_METRICS[metric](str(answer), str(reference)) for answer, reference in pairs]
            for metric in task.metrics
        }
    return {"accuracy": [float(prediction == reference) for prediction, reference in pairs]}


def references_of(
    task: DownstreamTask, examples: EncodedExamples
) -> Sequence[int] | Sequence[float] | Sequence[str] | None:
    """Return the reference labels, values or answers of a part; None if it has none, such as a hidden test set."""
    if task.form == "span":
        return examples.answers
    if task.value_range is not None:
        return examples.values or None
    labels = [int(label) for label in examples.labels]
    return None if -1 in labels else labels


def score_tags(
    task: DownstreamTask, predictions: Sequence[int], references: Sequence[int], sentences: Sequence[int]
) -> dict[str, float]:
    """Return each of the task's metrics of tagged words times 100: accuracy of words, entity or supersense scores.

    Predictions and references are label indices; `sentences` has the sentence of each word. Raises ValueError if
    there are no references or the numbers of predictions and references differ.
    """
    if len(predictions) != len(references) or not references:
        raise ValueError(f"{task.name}: {len(predictions)} predictions for {len(references)} references")
    absent = without_value(task, references)
    scores = {"accuracy": accuracy(predictions, references)} if "accuracy" in task.metrics else {}
    predicted, expected = ([task.labels[tag] for tag in tags] for tags in (predictions, references))
    if any(metric.startswith("entity") for metric in task.metrics):
        scores |= entity_scores(predicted, expected, sentences)
    if any(metric.startswith("supersense") for metric in task.metrics):
        scores |= supersense_scores(predicted, expected)
    return {metric: 100 * scores[metric] for metric in task.metrics if metric not in absent}


def sentence_scores(predictions: Sequence[int], words: EncodedWords) -> dict[str, Sequence[float]]:
    """Return the score of every tagged sentence: `exact_match`, 1 if the tags of all of its words are correct."""
    correct = np.ones(len(words.sequences))
    for tag, reference, sentence in zip(predictions, words.tags, words.sentences, strict=True):
        correct[sentence] *= tag == reference
    return {"exact_match": correct.tolist()}


def score_pairs(task: DownstreamTask, scores: PairScores) -> dict[str, float]:
    """Return the accuracy on minimal pairs times 100. Raises ValueError if there are none."""
    if not scores:
        raise ValueError(f"{task.name}: no pairs to score")
    return {metric: 100 * pair_accuracy(scores) for metric in task.metrics}


def pair_accuracy(scores: PairScores) -> float:
    """Return the share of pairs, from 0 to 1, whose acceptable sentence is more probable; a tie counts one half."""
    return fmean(TIE if good == bad else float(good > bad) for good, bad in scores)


def accuracy_by_group(scores: PairScores, groups: Sequence[str]) -> dict[str, float]:
    """Return the accuracy by group, from 0 to 1; pairs without a group are ignored."""
    by_group: dict[str, list[tuple[float, float]]] = {}
    for pair, group in zip(scores, groups, strict=True):
        if group:
            by_group.setdefault(group, []).append(pair)
    return {group: pair_accuracy(by_group[group]) for group in sorted(by_group)}


def entities(tags: Sequence[str], sentences: Sequence[int]) -> Iterator[Entity]:
    """Yield the entities of tagged words, of which `sentences` has the sentence; an entity ends with its sentence."""
    entity_type, first = "", 0
    for word, (tag, sentence) in enumerate(zip(tags, sentences, strict=True)):
        prefix, _, tag_type = tag.partition("-")
        continues = entity_type and prefix == "I" and tag_type == entity_type and sentence == sentences[word - 1]
        if entity_type and not continues:
            yield sentences[first], first, word, entity_type
        if not continues:
            entity_type, first = tag_type, word
    if entity_type:
        yield sentences[first], first, len(tags), entity_type


def entity_scores(
    predictions: Sequence[str], references: Sequence[str], sentences: Sequence[int]
) -> dict[str, float]:
    """Return precision, recall and F1 over all entities, from 0 to 1; 0 where a denominator is 0."""
    predicted, expected = {*entities(predictions, sentences)}, {*entities(references, sentences)}
    correct = len(predicted & expected)
    return {
        "entity_precision": correct / len(predicted) if predicted else 0.0,
        "entity_recall": correct / len(expected) if expected else 0.0,
        "entity_f1": 2 * correct / (len(predicted) + len(expected)) if correct else 0.0,
    }


def supersense_scores(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return precision, recall and F1 over all supersenses, from 0 to 1; 0 where a denominator is 0."""
    predicted, expected = (sum(tag != OUTSIDE for tag in tags) for tags in (predictions, references))
    pairs = zip(predictions, references, strict=True)
    correct = sum(tag == reference != OUTSIDE for tag, reference in pairs)
    return {
        "supersense_precision": correct / predicted if predicted else 0.0,
        "supersense_recall": correct / expected if expected else 0.0,
        "supersense_f1": 2 * correct / (predicted + expected) if correct else 0.0,
    }
