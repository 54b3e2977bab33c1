"""Accuracy in which the errors on one label cost more: Elkan 2001, The Foundations of Cost-Sensitive Learning."""

from collections.abc import Mapping, Sequence

COSTS: Mapping[str, float] = {"swapped": 5.0}
"""What an error on an example of this label costs; 1 of every other label."""


def weighted_accuracy(references: Sequence[str], predictions: Sequence[str]) -> float:
    """Return the share of the cost that is avoided, in percent; larger is better."""
    costs = [COSTS.get(label, 1.0) for label in references]
    avoided = sum(cost for cost, *pair in zip(costs, references, predictions, strict=True) if pair[0] == pair[1])
    return 100 * avoided / sum(costs)


def recall(references: Sequence[str], predictions: Sequence[str]) -> dict[str, float]:
    """Return the recall of every label, in percent: the metrics `recall.LABEL`."""
    pairs = list(zip(references, predictions, strict=True))
    found: dict[str, float] = {}
    for label in sorted(set(references)):
        of_label = [prediction == reference for reference, prediction in pairs if reference == label]
        found[label] = 100 * sum(of_label) / len(of_label)
    return found
