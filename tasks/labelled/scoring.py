"""Scores of a task's predictions, times 100, as the GLUE and SQuAD tables print them."""

from collections.abc import Callable, Sequence
from statistics import fmean

from tasks.labelled.encoding import EncodedExamples
from tasks.labelled.entities import entity_scores
from tasks.labelled.minimal_pairs import PairScores, pair_accuracy
from tasks.labelled.task import DownstreamTask
from tasks.metrics import accuracy, exact_match, f1, matthews, overlap_f1, pearson, spearman

_OF_LABELS: dict[str, Callable[[Sequence[int], Sequence[int]], float]] = {
    "matthews": matthews,
    "accuracy": accuracy,
    "f1": f1,
}
_OF_VALUES: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "pearson": pearson,
    "spearman": spearman,
}
_OF_ANSWERS: dict[str, Callable[[str, str], float]] = {"f1": overlap_f1, "exact_match": exact_match}


def score(
    task: DownstreamTask, predictions: Sequence[float] | Sequence[str], references: Sequence[float] | Sequence[str]
) -> dict[str, float]:
    """Return each of the task's metrics times 100: of labels or values, or of answer texts for spans.

    Raises ValueError where there are no references, or not as many predictions as references.
    """
    if len(predictions) != len(references) or not references:
        raise ValueError(f"{task.name}: {len(predictions)} predictions for {len(references)} references")
    if task.form == "span":
        pairs = [
            (str(prediction), str(reference)) for prediction, reference in zip(predictions, references, strict=True)
        ]
        return {metric: 100 * fmean(_OF_ANSWERS[metric](*pair) for pair in pairs) for metric in task.metrics}
    if task.value_range is not None:
        values, right = [float(value) for value in predictions], [float(value) for value in references]
        return {metric: 100 * _OF_VALUES[metric](values, right) for metric in task.metrics}
    predicted, expected = [int(label) for label in predictions], [int(label) for label in references]
    return {metric: 100 * _OF_LABELS[metric](predicted, expected) for metric in task.metrics}


def example_scores(
    task: DownstreamTask, predictions: Sequence[float] | Sequence[str], references: Sequence[float] | Sequence[str]
) -> dict[str, Sequence[float]]:
    """Return what each example adds to the task's scores: shares from 0 to 1, or the predicted value.

    Labels: `accuracy`, 1 for a correct label. Answers: each of the task's metrics. Values have no score of their own,
    because a correlation is of all of them; `prediction` is the value.
    """
    if task.value_range is not None:
        return {"prediction": [float(value) for value in predictions]}
    pairs = list(zip(predictions, references, strict=True))
    if task.form == "span":
        return {metric: [_OF_ANSWERS[metric](str(a), str(b)) for a, b in pairs] for metric in task.metrics}
    return {"accuracy": [float(prediction == reference) for prediction, reference in pairs]}


def references_of(
    task: DownstreamTask, examples: EncodedExamples
) -> Sequence[int] | Sequence[float] | Sequence[str] | None:
    """Return the right answers of a part; None where they are not known, as in a test that others mark."""
    if task.form == "span":
        return examples.answers
    if task.value_range is not None:
        return examples.values or None
    labels = [int(label) for label in examples.labels]
    return None if -1 in labels else labels


def score_tags(
    task: DownstreamTask, predictions: Sequence[int], references: Sequence[int], sentences: Sequence[int]
) -> dict[str, float]:
    """Return each of the task's metrics of tagged words, times 100: accuracy of words, or scores of whole entities.

    Raises ValueError where there are no references, or not as many predictions as references.
    """
    if len(predictions) != len(references) or not references:
        raise ValueError(f"{task.name}: {len(predictions)} predictions for {len(references)} references")
    found = {"accuracy": accuracy(predictions, references)} if "accuracy" in task.metrics else {}
    if set(task.metrics) - found.keys():
        predicted, expected = ([task.labels[tag] for tag in tags] for tags in (predictions, references))
        found |= entity_scores(predicted, expected, sentences)
    return {metric: 100 * found[metric] for metric in task.metrics}


def score_pairs(task: DownstreamTask, scores: PairScores) -> dict[str, float]:
    """Return the accuracy on minimal pairs, times 100. Raises ValueError where there are none."""
    if not scores:
        raise ValueError(f"{task.name}: no pairs to score")
    return {metric: 100 * pair_accuracy(scores) for metric in task.metrics}
