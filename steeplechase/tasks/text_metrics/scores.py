"""Scores of generated texts with their intervals and signatures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RESAMPLES = 1000
"""Of the bootstrap over texts; its interval is of 95%."""
SEED = 12345
"""Of the bootstrap: sacrebleu's default."""


@dataclass(frozen=True)
class TextScores:
    """By metric, on the scale from 0 to 100."""

    values: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    """Of 95%, over resampled texts."""
    signatures: Mapping[str, str]
    """What was computed: version, tokenisation, case."""

    def joined(self, other: "TextScores") -> "TextScores":
        """Return both."""
        return TextScores(
            {**self.values, **other.values},
            {**self.intervals, **other.intervals},
            {**self.signatures, **other.signatures},
        )

    def ordered(self, metrics: Sequence[str]) -> "TextScores":
        """Return the scores in the order of the metrics."""
        return TextScores(
            {metric: self.values[metric] for metric in metrics},
            {metric: self.intervals[metric] for metric in metrics},
            {metric: self.signatures[metric] for metric in metrics},
        )
