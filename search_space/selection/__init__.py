"""Which tokens an objective masks: the options, with their arithmetic."""

import math
from typing import Annotated, Literal

from pydantic import Field

from search_space.selection.numbering import NEVER, NONE, marked_spans, word_bounds
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.schema import OPTION, Count, PositiveNumber

Selection = Annotated[SelectionOption, OPTION]


class SingleToken(SelectionOption):
    """Every token is drawn with the same probability, pieces of one word independently.

    Devlin et al. 2018, arXiv 1810.04805, section 3.1.
    """

    kind: Literal["token"] = "token"
    """Chooses single tokens."""

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every drawn token as a span of its own."""
        draws = random.random(words.shape)
        draws[words == NONE] = NEVER
        chosen = np.argpartition(draws, budget, axis=1)[:, :budget]
        spans = np.full_like(words, NONE)
        np.put_along_axis(spans, chosen, chosen, axis=1)
        spans[words == NONE] = NONE
        return spans


class WholeWord(SelectionOption):
    """Words are drawn until the budget is reached; a word that does not fit into the rest of it is passed over.

    BERT's release, create_pretraining_data, do_whole_word_mask.
    """

    kind: Literal["whole_word"] = "whole_word"
    """Chooses whole words."""

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every drawn word as a span; a word longer than the rest of the budget is passed over."""
        spans = np.full_like(words, NONE)
        for row, numbered in zip(spans, words, strict=True):
            left = budget
            for start, end in random.permutation(word_bounds(numbered)):
                if end - start <= left:
                    row[start:end] = start
                    left -= end - start
                if left == 0:
                    break
        return spans


class NGram(SelectionOption):
    """N-grams are drawn until the budget is reached; one that does not fit is shortened by whole words.

    Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 4.1.
    """

    kind: Literal["ngram"] = "ngram"
    """Chooses n-grams of whole words."""
    weights: tuple[PositiveNumber, ...] = Field(default=(1.0, 1 / 2, 1 / 3), min_length=1, examples=[[6, 3, 2]])
    """Relative probability of an n-gram of 1, 2, … words. Default: p ∝ 1/n up to 3 words, as ALBERT's (mean 1.64)."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of every length in words, from 1."""
        return tuple(weight / sum(self.weights) for weight in self.weights)

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every drawn n-gram as a span; n-grams do not overlap, and begin at words in random order."""
        return marked_spans(words, self.probabilities, budget, random, _mark_ngram)


def _mark_ngram(row: Numbers, bounds: Numbers, left: int) -> int:
    """Mark the longest free n-gram that begins with the first word and fits; return its tokens, 0 without one."""
    for words in range(len(bounds), 0, -1):
        start, end = int(bounds[0, 0]), int(bounds[words - 1, 1])
        if end - start <= left and (row[start:end] == NONE).all() and _contiguous(bounds[:words]):
            row[start:end] = start
            return end - start
    return 0


def _contiguous(bounds: Numbers) -> bool:
    """Return whether no special token lies between the words."""
    return bool((bounds[1:, 0] == bounds[:-1, 1]).all())


class SpanGeometric(SelectionOption):
    """Spans of whole words that begin at a word; the last one is truncated to the budget, at a token.

    Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.1.
    """

    kind: Literal["span_geometric"] = "span_geometric"
    """Chooses spans of geometric length."""
    success_probability: float = Field(default=0.2, gt=0, lt=1)
    """p of the geometric distribution of a span's length in words; a span of n words has p (1 - p)^(n - 1)."""
    longest: Count = 10
    """Maximum length of a span in words; the distribution is truncated there and renormalised (mean 3.8)."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of every length in words, from 1."""
        weights = [(1 - self.success_probability) ** words for words in range(self.longest)]
        return tuple(weight / sum(weights) for weight in weights)

    def budget(self, rate: float, length: int) -> int:
        """Return the number of tokens selected in a sequence of `length`: 20 of 128 at 15%, as SpanBERT's release."""
        return math.ceil(rate * length)

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return the drawn spans: each begins at a free word and ends before a selected or special token.

        The last span ends at the budget, perhaps inside a word.
        """
        return marked_spans(words, self.probabilities, budget, random, _mark_span)


def _mark_span(row: Numbers, bounds: Numbers, left: int) -> int:
    """Mark the span from its first word up to the first token that is not free; return the number of its tokens."""
    marked, start = 0, int(bounds[0, 0])
    for first, end in bounds:
        room = left - marked
        if room == 0 or first != start + marked or row[first] != NONE:
            break
        stop = min(int(end), int(first) + room)
        row[first:stop] = start
        marked += stop - int(first)
        if stop < end:
            break
    return marked


class WindowedNGram(SelectionOption):
    """Windows follow each other; each has one n-gram, which begins at a word, at a random place inside it.

    A window is as many times longer than its n-gram as the sequence is than the budget. n counts tokens, of which the
    first begins a word, as in the release. What the windows leave of the budget is filled with single tokens.

    XLNet, Yang et al. 2019, arXiv 1906.08237, and its data_utils.py.
    """

    kind: Literal["windowed_ngram"] = "windowed_ngram"
    """Chooses n-grams in windows of context."""
    longest: Count = 5
    """Largest number of tokens of an n-gram; n has the probability p ∝ 1/n. Default: XLNet's release."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of every length in tokens, from 1."""
        weights = [1 / tokens for tokens in range(1, self.longest + 1)]
        return tuple(weight / sum(weights) for weight in weights)

    def budget(self, rate: float, length: int) -> int:
        """Return the number of tokens selected in a sequence of `length`: 85 of 512 at 1/6, as XLNet's release."""
        return int(rate * length + 1e-9)  # 1/3 of 15 is 5

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return every n-gram as a span; what windows leave of the budget is filled with single tokens."""
        spans = np.full_like(words, NONE)
        for row, numbered in zip(spans, words, strict=True):
            inside = np.flatnonzero(numbered != NONE)
            left = min(budget, len(inside))
            if left:
                left -= _mark_windows(row, numbered, inside, left, self, random)
                free = inside[row[inside] == NONE]
                chosen = random.choice(free, left, replace=False)
                row[chosen] = chosen
        return spans


def _mark_windows(
    row: Numbers,
    words: Numbers,
    inside: Numbers,
    budget: int,
    option: WindowedNGram,
    random: Random,
) -> int:
    """Mark an n-gram in every window, and return the number of marked tokens; `inside` are the ordinary tokens."""
    ratio, left, window = len(inside) / budget, budget, 0
    starts = np.flatnonzero(np.diff(words[inside], prepend=NONE))  # places inside, where words begin
    while left and window < len(inside):
        tokens = min(int(random.choice(option.longest, p=option.probabilities)) + 1, left)
        room = max(0, round(tokens * ratio) - tokens)
        before = int(random.integers(room + 1))
        following = starts[np.searchsorted(starts, window + before) :]
        if not len(following):
            break
        begin = int(following[0])
        span = inside[begin : begin + tokens]
        span = span[span - span[0] == np.arange(len(span))]  # up to a special token
        row[span] = span[0]
        left -= len(span)
        window = begin + len(span) + room - before
    return budget - left
