"""Precision, recall and F1 of tagged words, `O` left out: the supersense measures of DiMSUM's dimsumeval.py.

Source: Schneider et al. 2016, aclanthology.org/S16-1084, section 4. A word's supersense is correct if it is predicted
at that word; words without one, tagged `O`, count only where one is predicted.
"""

from collections.abc import Sequence

OUTSIDE = "O"


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
