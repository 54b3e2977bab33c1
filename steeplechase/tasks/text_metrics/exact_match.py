"""Exact match: the share of texts that are equal to their references but for white space."""

from collections.abc import Sequence

from steeplechase.analysis.proportions import wilson
from steeplechase.tasks.text_metrics import TextScore

NAME = "exact_match"


def scores(metrics: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> dict[str, TextScore]:
    """Return the share times 100, with Wilson's interval."""
    equal = sum(matches(predictions, references))
    low, high = wilson(int(equal), len(references))
    return {NAME: TextScore(100 * equal / len(references), (100 * low, 100 * high), "space:single")}


def matches(predictions: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return 1.0 for every text that is equal to its reference but for white space, else 0.0."""
    pairs = zip(predictions, references, strict=True)
    return [float(text.split() == reference.split()) for text, reference in pairs]
