"""Masking: selects the predicted tokens and corrupts them. ELECTRA's release, `pretrain_helpers.mask`."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import starmap
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from search_space.objective.masked_language_model import Masking
from search_space.packing.sequences import Sequences
from search_space.selection import Selection
from search_space.selection.numbering import NEVER, NONE, NOT_PREDICTED, word_bounds
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import words_of


@dataclass(frozen=True)
class Rows:
    """Arrays with one row for each sequence of a batch, and tuples of such groups of arrays."""

    def micro_batches(self, count: int) -> Iterator[Self]:
        """Yield the rows in `count` parts in order, the first ones longer by a row where they cannot be equal."""
        columns = (_split(getattr(self, field.name), count) for field in fields(self))
        yield from starmap(type(self), zip(*columns, strict=True))


def _split(column: "NDArray[Any] | tuple[Rows, ...]", count: int) -> Iterable[Any]:
    if isinstance(column, tuple):
        return zip(*(rows.micro_batches(count) for rows in column), strict=True)
    return np.array_split(column, count)


@dataclass(frozen=True)
class MaskedBatch(Rows):
    """A batch with some tokens masked: the inputs, the masked positions and the original tokens there."""

    inputs: Numbers
    """Token identifiers after masking; shape [batch seq]."""
    masked_positions: NDArray[np.int64]
    """Predicted positions, rising along each row; shape [batch predictions]."""
    targets: NDArray[np.int64]
    """The original tokens at those positions, or NOT_PREDICTED; shape [batch predictions]."""
    spans: NDArray[np.int64]
    """The number of the span of each position, NONE where it is not predicted; shape [batch predictions]."""

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """Which of the positions are predicted, row by row [batch x predictions]."""
        scored: NDArray[np.bool_] = (self.targets != NOT_PREDICTED).ravel()
        return scored

    def evaluation_set(self, random: np.random.Generator) -> EvaluationSet:
        """Return the evaluation set of these masks, with the same number of predictions in every sequence.

        Where rows have different numbers, as many as the smallest has are drawn from each; the other masked tokens
        stay masked and are not scored.
        """
        scored = self.targets != NOT_PREDICTED
        if scored.all():
            return EvaluationSet(self.inputs, self.masked_positions, self.targets)
        draws = random.random(scored.shape)
        draws[~scored] = NEVER
        count = int(scored.sum(axis=1).min())
        chosen = np.sort(np.argsort(draws, axis=1)[:, :count], axis=1)
        positions, targets = (np.take_along_axis(each, chosen, 1) for each in (self.masked_positions, self.targets))
        return EvaluationSet(self.inputs, positions, targets)

    @property
    def predictions(self) -> int:
        """Number of predictions of all rows: the loss is averaged over them."""
        return int(self.predicted.sum())


@dataclass(frozen=True)
class PaddedBatch(MaskedBatch):
    """A batch of which some rows may end in padding."""

    real: NDArray[np.bool_]
    """False at padding [batch seq]."""


def padded(batch: MaskedBatch, sequences: Sequences, tokenizer: Tokenizer) -> PaddedBatch:
    """Return the batch of these sequences with the places of their padding."""
    return PaddedBatch(**vars(batch), real=sequences.tokens != tokenizer.pad)


@dataclass(frozen=True)
class PreferredWords:
    """Words that are selected first, up to two shares, and not selected otherwise. SenseBERT, arXiv 1908.05646."""

    positions: NDArray[np.bool_]
    """Whether each token is a preferred word by itself [batch seq]."""
    share_of_words: float
    """Largest share of the preferred words of a row that is selected."""
    share_of_budget: float
    """Largest share of a row's budget that is filled with them, rounded up to a word as the other share is."""

    def rows(self, rows: NDArray[np.bool_] | slice) -> "PreferredWords":
        """Return the preferred words of some rows."""
        return PreferredWords(self.positions[rows], self.share_of_words, self.share_of_budget)


@dataclass(frozen=True)
class Words:
    """The words of a batch that may be masked."""

    numbers: NDArray[np.int64]
    """The number of the word of every token, NONE where it is not masked [batch seq]."""
    preferred: PreferredWords | None = None
    """Words that are masked first."""

    def rows(self, rows: NDArray[np.bool_] | slice) -> "Words":
        """Return the words of some rows."""
        return Words(self.numbers[rows], None if self.preferred is None else self.preferred.rows(rows))


def mask(
    sequences: Sequences,
    masking: Masking,
    tokenizer: Tokenizer,
    random: np.random.Generator,
    words: Words | None = None,
) -> MaskedBatch:
    """Mask a fixed number of tokens per row, selected as declared; special tokens and padding are never selected.

    How many depends on the training tokens before where `masking` has a schedule.

    A row with fewer selected tokens is filled with positions that are not predicted. Static masks are functions of
    the seed, the number of the sequence and its epoch; dynamic ones are drawn from `random`. By default all words may
    be masked.
    """
    masking = masking.at(sequences.tokens_before)
    words = words or Words(words_of(sequences.tokens, tokenizer))
    if masking.static_masks is None:
        return _masked(sequences.tokens, words, masking, tokenizer, random)
    epochs = sequences.epochs % masking.static_masks
    streams = (
        stream(sequences.seed, "static masks", int(number), int(epoch))
        for number, epoch in zip(sequences.numbers, epochs, strict=True)
    )
    numbered = ((slice(number, number + 1), own) for number, own in enumerate(streams))
    rows = [_masked(sequences.tokens[row], words.rows(row), masking, tokenizer, own) for row, own in numbered]
    most = max(row.targets.shape[1] for row in rows)
    rows = [_with_positions(row, most) for row in rows]
    return MaskedBatch(*(np.concatenate([getattr(row, field.name) for row in rows]) for field in fields(MaskedBatch)))


def _with_positions(batch: MaskedBatch, count: int) -> MaskedBatch:
    """Return the batch with `count` positions in every row: the last one, not predicted, fills it."""
    missing = ((0, 0), (0, count - batch.targets.shape[1]))
    return MaskedBatch(
        batch.inputs,
        np.pad(batch.masked_positions, missing, constant_values=batch.inputs.shape[1] - 1),
        np.pad(batch.targets, missing, constant_values=NOT_PREDICTED),
        np.pad(batch.spans, missing, constant_values=NONE),
    )


def _masked(
    tokens: Numbers, words: Words, masking: Masking, tokenizer: Tokenizer, random: np.random.Generator
) -> MaskedBatch:
    spans, count = selected(tokens, words, masking.selection, masking.masked_tokens, tokenizer, random)
    positions = np.sort(np.argsort(spans == NONE, axis=1, kind="stable")[:, :count], axis=1)
    drawn = np.take_along_axis(spans, positions, axis=1)
    originals = np.take_along_axis(tokens, positions, axis=1)
    uniforms = random.random(positions.shape)
    if masking.replaced_together == "span":
        uniforms = np.take_along_axis(uniforms, _first_of_span(drawn), axis=1)
    replacements = random.integers(0, tokenizer.vocabulary_size, positions.shape)
    masked = uniforms < masking.mask_token_share
    randomised = ~masked & (uniforms < masking.mask_token_share + masking.random_token_share)
    visible = np.where(masked, tokenizer.mask, np.where(randomised, replacements, originals))
    inputs = tokens.copy()
    np.put_along_axis(inputs, positions, np.where(drawn != NONE, visible, originals), axis=1)
    return MaskedBatch(inputs, positions, np.where(drawn != NONE, originals, NOT_PREDICTED), drawn)


def selected(
    tokens: Numbers,
    words: Words,
    selection: Selection,
    budget_of: Callable[[int], int],
    tokenizer: Tokenizer,
    random: np.random.Generator,
) -> tuple[NDArray[np.int64], int]:
    """Return the span of every token and the largest budget of a row; a row's budget is that of its length."""
    lengths = np.count_nonzero(tokens != tokenizer.pad, axis=1)
    budgets = np.array([budget_of(length) for length in lengths.tolist()])
    spans = np.full_like(words.numbers, NONE)

    def drawn(numbers: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
        return selection.select(numbers, budget, random)

    for budget in np.unique(budgets).tolist():
        rows = budgets == budget
        part = words.rows(rows)
        if part.preferred is None:
            spans[rows] = drawn(part.numbers, budget)
        else:
            spans[rows] = select_preferred(part.numbers, part.preferred, budget, random, drawn)
    return spans, int(budgets.max())


def select_preferred(
    words: NDArray[np.int64],
    preferred: PreferredWords,
    budget: int,
    random: np.random.Generator,
    select: Callable[[NDArray[np.int64], int], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return the selected spans [batch seq]: preferred words, then what `select` draws among the other words."""
    spans = np.full_like(words, NONE)
    for row, numbered, wanted in zip(spans, words, preferred.positions, strict=True):
        starts = word_bounds(np.where(wanted, numbered, NONE))[:, 0]
        count = math.ceil(min(preferred.share_of_words * len(starts), preferred.share_of_budget * budget))
        chosen = random.choice(starts, count, replace=False) if count else starts[:0]
        row[chosen] = chosen
    left = budget - (spans != NONE).sum(axis=1)
    others = np.where(preferred.positions, NONE, words)
    for remaining in np.unique(left[left > 0]).tolist():
        rows = left == remaining
        spans[rows] = np.maximum(spans[rows], select(others[rows], remaining))  # NONE is below every number
    return spans


def _first_of_span(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every position the column of the first position of its span [batch predictions]."""
    columns = np.arange(spans.shape[1])
    begins = np.ones_like(spans, dtype=bool)
    begins[:, 1:] = spans[:, 1:] != spans[:, :-1]
    first: NDArray[np.int64] = np.maximum.accumulate(np.where(begins, columns, 0), axis=1)
    return first
