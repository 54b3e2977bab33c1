"""Metrics of downstream tasks, as shares from -1 or 0 to 1: scikit-learn's formulas, without its second of import.

The tests hold every metric of labels to scikit-learn's, bit for bit. The only import of scipy's correlations.
"""

import math
import operator
import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def matthews(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return Matthews's correlation, from -1 to 1; 0 if the predictions or the references are constant."""
    predicted, expected = Counter(predictions), Counter(references)
    if len(predicted) < 2 or len(expected) < 2:
        return 0.0
    squared = len(references) ** 2
    agreement = _correct(predictions, references) * len(references)
    covariance = agreement - sum(count * predicted[label] for label, count in expected.items())
    variances = [squared - sum(count**2 for count in side.values()) for side in (predicted, expected)]
    return covariance / math.sqrt(float(variances[0]) * float(variances[1]))


def accuracy(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the share of correct predictions."""
    return _correct(predictions, references) / len(references)


def f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return F1 of label 1, as in GLUE for MRPC and QQP; 0 if neither side has label 1."""
    return _f1_of_labels(predictions, references).get(1, 0.0)


def macro_f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the mean F1 over the labels that occur on either side."""
    of_labels = _f1_of_labels(predictions, references)
    return float(np.mean([of_labels[label] for label in sorted(of_labels)]))


def _correct(predictions: Sequence[int], references: Sequence[int]) -> int:
    return int(sum(map(operator.eq, predictions, references)))


def _f1_of_labels(predictions: Sequence[int], references: Sequence[int]) -> dict[int, float]:
    """Return the F1 of every label that occurs on either side."""
    occurrences = Counter(predictions) + Counter(references)
    correct = Counter(label for label, reference in zip(predictions, references, strict=True) if label == reference)
    return {label: 2 * correct[label] / count for label, count in occurrences.items()}


def pearson(predictions: Sequence[float], references: Sequence[float]) -> float:
    """Return Pearson's correlation, from -1 to 1; 0 if either side is constant."""
    from scipy.stats import pearsonr

    return 0.0 if _constant(predictions, references) else float(pearsonr(predictions, references).statistic)


def spearman(predictions: Sequence[float], references: Sequence[float]) -> float:
    """Return Spearman's rank correlation, from -1 to 1; 0 if either side is constant."""
    from scipy.stats import spearmanr

    return 0.0 if _constant(predictions, references) else float(spearmanr(predictions, references).statistic)


def _constant(*sides: Sequence[float]) -> bool:
    return any(len(set(side)) < 2 for side in sides)


def normal_answer(text: str) -> str:
    """Return an answer in SQuAD's normal form: lower case, no punctuation, no articles, single spaces."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def exact_match(prediction: str, reference: str) -> float:
    """Return 1.0 if two answers are equal in normal form, else 0.0."""
    return float(normal_answer(prediction) == normal_answer(reference))


def overlap_f1(prediction: str, reference: str) -> float:
    """Return the harmonic mean of precision and recall over words in normal form; 1.0 for two empty answers."""
    predicted, expected = normal_answer(prediction).split(), normal_answer(reference).split()
    if not predicted or not expected:
        return float(predicted == expected)
    shared = (Counter(predicted) & Counter(expected)).total()
    return 2 * shared / (len(predicted) + len(expected))
