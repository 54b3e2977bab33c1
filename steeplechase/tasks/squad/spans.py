"""From boundary logits to one text per question: the best spans over its windows. BERT's release, run_squad.py.

A span's score is the sum of its start and end logits. It starts at a token with maximum context in its window and has
at most 30 tokens; its text is a slice of the context. The score of "no answer" is the lowest [CLS] score over the
windows, so one window with an answer suffices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.labelled.encoding import NO_OFFSET

LONGEST_ANSWER_TOKENS = 30  # run_squad.py, max_answer_length
SPANS_PER_WINDOW = 20  # run_squad.py, n_best_size

Logits = NDArray[np.float32]
Integers = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters from `start` to `end` of a context, with their score."""

    score: float
    start: int
    end: int


@dataclass(frozen=True)
class BestSpans:
    """The best spans of one question over all its windows."""

    spans: tuple[Span, ...]
    """Best first, without duplicate spans."""
    null_score: float

    @property
    def null_odds(self) -> float:
        """Score of "no answer" minus that of the best span; 0 without spans."""
        return self.null_score - self.spans[0].score if self.spans else 0.0

    def text(self, context: str) -> str:
        """Return the best span's text; empty if there is none."""
        return context[self.spans[0].start : self.spans[0].end] if self.spans else ""


def window_spans(logits: Logits, offsets: Integers, most_context: Integers) -> list[Span]:
    """Return the best spans of one window, the best first; of equal ones the earlier and shorter.

    `logits` [seq 2] are those of starts and ends, `offsets` [seq 2] and `most_context` [seq] as in `Windows`. Every
    span is considered. Raises ValueError for logits that are not finite.
    """
    if not np.isfinite(logits).all():
        raise ValueError("boundary logits are not finite")
    length = len(logits)
    inside = np.asarray(offsets)[:, 0] != NO_OFFSET
    scores = np.full((length, min(LONGEST_ANSWER_TOKENS, length)), -np.inf, dtype=np.float32)
    for width in range(scores.shape[1]):  # span [start, start + width]; a paragraph's tokens are contiguous
        possible = inside[: length - width] & (np.asarray(most_context)[: length - width] == 1) & inside[width:]
        sums = logits[: length - width, 0] + logits[width:, 1]
        scores[: length - width, width] = np.where(possible, sums, -np.inf)
    flat = scores.ravel()
    order = np.argsort(-flat, kind="stable")[:SPANS_PER_WINDOW]
    spans = []
    for index in order[np.isfinite(flat[order])]:
        start, width = divmod(int(index), scores.shape[1])
        spans.append(Span(float(flat[index]), int(offsets[start, 0]), int(offsets[start + width, 1])))
    return spans


def combined(windows: Sequence[Sequence[Span]], null_scores: Sequence[float]) -> BestSpans:
    """Return the best spans over the windows of one question; a span in several windows has its best score."""
    best: dict[tuple[int, int], float] = {}
    for span in (span for spans in windows for span in spans):
        characters = (span.start, span.end)
        best[characters] = max(span.score, best.get(characters, span.score))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    spans = tuple(Span(score, *characters) for characters, score in ranked[:SPANS_PER_WINDOW])
    return BestSpans(spans, min(null_scores))


def with_threshold(texts: Mapping[str, str], null_odds: Mapping[str, float], threshold: float) -> dict[str, str]:
    """Return the texts, empty where a question's odds of having no answer are above the threshold."""
    return {name: "" if null_odds[name] > threshold else text for name, text in texts.items()}
