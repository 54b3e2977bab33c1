"""Metrics of downstream tasks, as shares from -1 or 0 to 1. The only import of scikit-learn's and scipy's metrics."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


CORRELATIONS = frozenset({"matthews", "pearson", "spearman"})
"""The metrics that are 0 where every prediction is the same."""


def matthews(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return Matthews's correlation, from -1 to 1; 0 if a side is constant, as in scikit-learn."""
    if len(set(predictions)) < 2 or len(set(references)) < 2:
        return 0.0
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(references, predictions))


def accuracy(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the share of correct predictions."""
    return sum(one == other for one, other in zip(predictions, references, strict=True)) / len(references)


def f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return F1 of label 1, as in GLUE for MRPC and QQP; 0 if neither side has label 1."""
    from sklearn.metrics import f1_score

    return float(f1_score(references, predictions, labels=[1], average="macro", zero_division=0.0))


def macro_f1(predictions: Sequence[int], references: Sequence[int]) -> float:
    """Return the mean F1 over the labels that occur on either side."""
    from sklearn.metrics import f1_score

    return float(f1_score(references, predictions, average="macro", zero_division=0.0))


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
