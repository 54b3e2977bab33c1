"""Metrics of downstream tasks, as shares from -1 or 0 to 1: counts to scikit-learn's last bit, scipy's correlations.

scikit-learn's own are not imported: that takes two seconds of every process which scores.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def matthews(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return Matthews's correlation, from -1 to 1; 0 if a side is constant, as in scikit-learn."""
    if len(set(predictions)) < 2 or len(set(references)) < 2:
        return 0.0
    predicted, expected, count = Counter(predictions), Counter(references), len(references)
    correct = sum(one == other for one, other in zip(predictions, references, strict=True))
    together = correct * count - sum(number * expected[label] for label, number in predicted.items())
    spreads = (count**2 - sum(number**2 for number in side.values()) for side in (predicted, expected))
    return together / math.sqrt(math.prod(map(float, spreads)))


def accuracy(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the share of correct predictions."""
    return sum(one == other for one, other in zip(predictions, references, strict=True)) / len(references)


def f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return F1 of label 1, as in GLUE for MRPC and QQP; 0 if neither side has label 1."""
    return _f1_by_label(predictions, references).get(1, 0.0)


def macro_f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the mean F1 over the labels that occur on either side."""
    import numpy as np  # whose order of summation is scikit-learn's

    return float(np.mean([value for _, value in sorted(_f1_by_label(predictions, references).items())]))


def _f1_by_label(predictions: Sequence[int], references: Sequence[int]) -> dict[int, float]:
    """Return F1 of each label that occurs on either side."""
    correct = Counter(one for one, other in zip(predictions, references, strict=True) if one == other)
    either = Counter(predictions) + Counter(references)
    return {label: 2 * correct[label] / number for label, number in either.items()}


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
