"""Packings: every token once in an epoch, boundaries kept, batches a function of their number and the seed."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from search_space.candidate import Candidate
from search_space.objective import LanguageModel, MaskedLanguageModel, NextSentencePrediction, Objective
from search_space.packing import (
    Consecutive,
    DocSentences,
    FullSentences,
    PackingOption,
    SentencePairs,
    Stream,
    packings,
)
from search_space.packing.sequences import PairSequences, SequenceSource, Text
from search_space.packing.stream import ConsecutiveSegments
from search_space.packing.whole_sentences import sentence_bounds
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import options_of
from steeplechase.tasks.packing import sequences_of
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS
from tests.factories.small_experiments import OBJECTIVES, WORDS

LENGTH = 24
WORD_TOKENS = WordPiece([*SPECIAL_TOKENS, *(f"w{number}" for number in range(9000))], lowercase=True)
OF_THEIR_OWN = ("mentions", "consecutive", "continued_pairs")
"""Packings with tests of their own."""
KINDS = [packing.kind for packing in packings() if packing.kind not in OF_THEIR_OWN]
WHOLE = (FullSentences(), DocSentences())
every_packing = pytest.mark.parametrize("kind", KINDS)
whole_sentences = pytest.mark.parametrize("packing", WHOLE, ids=lambda packing: packing.kind)


def text_of(sizes: list[list[int]], length: int = LENGTH) -> Text:
    """Return a text whose tokens all differ; `sizes` are the tokens of the sentences, by document."""
    tokens, starts, word = [], [], len(SPECIAL_TOKENS)
    for document in sizes:
        for sentence in document:
            starts.append(len(tokens))
            tokens.extend(range(word, word + sentence))
            word += sentence
        tokens.append(WORD_TOKENS.separate)
    return Text(np.array(tokens, np.uint16), np.array(starts, np.int64), WORD_TOKENS, length)


def random_text(seed: int = 1, documents: int = 40) -> Text:
    """Return documents of up to nine sentences; some sentences are longer than a sequence, some documents empty."""
    random = np.random.default_rng(seed)
    return text_of([[int(size) for size in random.geometric(0.12, random.integers(0, 10))] for _ in range(documents)])


TEXT = random_text()
ORDINARY = TEXT.tokens[TEXT.tokens != WORD_TOKENS.separate]
DOCUMENTS = np.cumsum(WORD_TOKENS.separate == TEXT.tokens)[TEXT.tokens != WORD_TOKENS.separate]
DOCUMENT_OF = dict(zip(ORDINARY.tolist(), DOCUMENTS.tolist(), strict=True))


def packed(kind: str, text: Text = TEXT) -> SequenceSource:
    return sequences_of(text, objective_of(kind))


@cache
def objective_of(kind: str) -> Objective:
    """Return the first objective with its defaults that can be trained on sequences of a packing."""
    (packing,) = (each for each in packings() if each.kind == kind)
    plain = (MaskedLanguageModel(packing=packing), NextSentencePrediction(packing=packing))
    return next(objective for objective in plain if objective.reads(packing))


def inside(row: np.ndarray) -> np.ndarray:
    """Return the tokens between [CLS] and the last [SEP] of a row."""
    ordinary = row[row != WORD_TOKENS.pad]
    assert ordinary[0] == WORD_TOKENS.classify
    assert ordinary[-1] == WORD_TOKENS.separate
    return ordinary[1:-1]


def epoch(source: SequenceSource) -> list[np.ndarray]:
    """Return the tokens of all sequences in the order of the text, without the special tokens at both ends."""
    return [inside(row) for row in source.evenly_spaced(source.sequences, 1).tokens]


def test_some_objective_reads_every_packing() -> None:
    for packing in options_of(PackingOption):
        assert any(objective.reads(packing()) for objective in OBJECTIVES)


@every_packing
def test_a_batch_is_a_function_of_its_step_the_size_and_the_seed(kind: str) -> None:
    source, other = packed(kind), packed(kind)
    batches = [source.at(step, 3, 1) for step in range(7)]
    for step in (6, 2, 4):
        assert (other.at(step, 3, 1).tokens == batches[step].tokens).all()
    assert not np.array_equal(packed(kind).at(2, 3, 2).tokens, batches[2].tokens)


@every_packing
def test_every_epoch_visits_every_sequence_once_and_none_is_too_long(kind: str) -> None:
    source = packed(kind)
    numbers: dict[int, list[int]] = {}
    step = 0
    while 3 not in numbers:
        batch = source.at(step, 3, 1)
        assert batch.tokens.shape[1] <= LENGTH
        assert len(batch.tokens) == len(batch.numbers) == len(batch.epochs) >= 3
        for number, visits in zip(batch.numbers.tolist(), batch.epochs.tolist(), strict=True):
            numbers.setdefault(visits, []).append(number)
        step += 1
    for visits in range(3):
        assert sorted(numbers[visits]) == list(range(source.sequences))


@whole_sentences
@pytest.mark.parametrize("seed", range(4))
def test_no_token_of_an_epoch_is_lost_or_doubled(packing: PackingOption, seed: int) -> None:
    text = random_text(seed)
    found = np.concatenate(epoch(packed(packing.kind, text)))
    assert (found[found != WORD_TOKENS.separate] == text.tokens[text.tokens != WORD_TOKENS.separate]).all()


@whole_sentences
def test_sequences_begin_and_end_with_sentences_unless_one_is_longer_than_a_sequence(packing: PackingOption) -> None:
    starts = set(TEXT.tokens[TEXT.sentences].tolist())
    bounds, _ = sentence_bounds(TEXT)
    ends = {int(TEXT.tokens[end - 1]) for _, end in bounds}
    split = {int(TEXT.tokens[start]) for start, end in bounds} - starts
    assert split  # the text has such sentences
    for row in epoch(packed(packing.kind)):
        assert row[0] in starts | split
        assert row[-1] in ends


def test_full_sentences_have_a_separator_between_documents_and_waste_less_than_a_sentence() -> None:
    rows = epoch(packed("full_sentences"))
    crossing = 0
    for row in rows:
        words = np.flatnonzero(row != WORD_TOKENS.separate)
        for left, right in pairwise(words):
            differs = DOCUMENT_OF[int(row[left])] != DOCUMENT_OF[int(row[right])]
            assert differs == (right > left + 1)
            crossing += differs
    assert crossing > 10
    bounds, _ = sentence_bounds(TEXT)
    size_of = {int(TEXT.tokens[start]): int(end - start) for start, end in bounds}
    for row, following in pairwise(rows):
        separators = DOCUMENT_OF[int(following[0])] - DOCUMENT_OF[int(row[-1])]
        assert len(row) + separators + size_of[int(following[0])] > LENGTH - 2


def test_doc_sentences_never_cross_a_document_and_are_as_long_as_its_sentences_allow() -> None:
    rows = epoch(packed("doc_sentences"))
    bounds, _ = sentence_bounds(TEXT)
    size_of = {int(TEXT.tokens[start]): int(end - start) for start, end in bounds}
    for row, following in pairwise(rows):
        assert len({DOCUMENT_OF[int(token)] for token in row}) == 1
        if DOCUMENT_OF[int(row[-1])] == DOCUMENT_OF[int(following[0])]:
            assert len(row) + size_of[int(following[0])] > LENGTH - 2


@pytest.mark.parametrize("kind", ["doc_sentences", "sentence_pair"])
def test_batches_of_short_sequences_have_the_tokens_of_full_ones(kind: str) -> None:
    """Of every batch, less than a sequence more or less; of pairs, whose length is drawn, on average."""
    source, steps = packed(kind), 60
    tokens = [int((source.at(step, 4, 1).tokens != WORD_TOKENS.pad).sum()) for step in range(steps)]
    assert np.mean(tokens) == pytest.approx(4 * LENGTH, rel=0.05 if kind == "doc_sentences" else 0.15)
    if kind == "doc_sentences":
        assert all(abs(each - 4 * LENGTH) < LENGTH for each in tokens)


def test_pairs_of_sentences_are_neighbours_or_of_two_documents_and_never_two_of_a_segment() -> None:
    text = text_of([[3, 4, 5, 6, 4], [2, 7], [5], [4] * 6] * 5)
    starts = {int(text.tokens[start]): number for number, start in enumerate(text.sentences)}
    document_of = sentence_bounds(text)[1]
    source = packed("sentence_pair", text)
    labels = []
    for step in range(40):
        batch = source.at(step, 4, 1)
        assert isinstance(batch, PairSequences)
        for row, label in zip(batch.tokens, batch.labels.tolist(), strict=True):
            a, b = np.split(inside(row), np.flatnonzero(inside(row) == WORD_TOKENS.separate))
            first, second = starts[int(a[0])], starts[int(b[1])]
            assert (document_of[first] == document_of[second]) == (second == first + 1 and label == 0)
            assert label in (0, 1)
            assert all(int(token) not in starts for token in (*a[1:], *b[2:]))
            labels.append(label)
    assert 0.5 < np.mean(labels) < 0.75  # last sentences of an odd number have no next one
    even = packed("sentence_pair", text_of([[4] * 6] * 20))
    counts = np.bincount(np.concatenate([even.at(step, 8, 1).labels for step in range(60)]))
    assert chisquare(counts).pvalue > 1e-3


@whole_sentences
def test_a_text_without_sentences_is_refused(packing: PackingOption) -> None:
    with pytest.raises(DataError, match="the text has no sentence"):
        packed(packing.kind, text_of([[], []])).at(0, 1, 1)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (MaskedLanguageModel(packing=SentencePairs()), "sentence_pair with masked language model; allowed: "),
        (NextSentencePrediction(packing=Stream()), "stream with next sentence prediction; allowed: segment_pair, "),
        (NextSentencePrediction(packing=SentencePairs(), short_sequence_share=0.0), "0.0 has no effect"),
    ],
)
def test_a_packing_that_does_not_fit_the_objective_is_refused(objective: Objective, message: str) -> None:
    found = [violation.message for violation in Candidate(objective=objective).violations()]
    assert len(found) == 1
    assert found[0].startswith(message)


SEGMENT, ROWS = 9, 4


def source(tokens: int) -> ConsecutiveSegments:
    text = Text(np.arange(10, 10 + tokens, dtype=np.uint16), np.empty(0, np.int64), WORDS, SEGMENT)
    found = sequences_of(text, LanguageModel(packing=Consecutive()))
    assert isinstance(found, ConsecutiveSegments)
    return found


def test_a_row_continues_with_the_token_at_which_it_ended_and_an_epoch_has_every_token_once() -> None:
    segments = source(20 * 8 + 1)
    assert segments.sequences == 20
    batches = [segments.at(step, ROWS, seed=3) for step in range(5)]
    for one, other in pairwise(batches):
        continued = other.numbers == one.numbers + 1
        assert continued.sum() >= ROWS - 1  # one row may pass the end of the text
        assert (other.tokens[continued, 0] == one.tokens[continued, -1]).all()
    predicted = np.concatenate([batch.tokens[:, 1:].ravel() for batch in batches])
    assert sorted(predicted.tolist()) == list(range(11, 11 + 160))


def test_held_out_segments_are_the_first_in_order() -> None:
    assert source(400).evenly_spaced(6, 1).numbers.tolist() == [*range(6)]


def test_a_text_that_is_too_short_is_one_line() -> None:
    with pytest.raises(DataError) as refusal:
        source(20).at(0, ROWS, 1)
    assert refusal.value.lines == ("the text has 20 tokens; 4 rows need a segment of 8 tokens each",)
