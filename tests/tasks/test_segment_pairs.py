"""Pairs of segments: whole sentences of one document, the declared relations in equal shares, no text of another."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from search_space.objective import NextSentencePrediction, SentenceOrderPrediction, SentenceStructure
from search_space.objective.segment_pair import SegmentPair
from search_space.packing.segment_pair import SegmentPairBatches, truncated
from search_space.packing.sequences import UNDEFINED, PairSequences, Text
from steeplechase.foundation.errors import CorruptionError, DataError
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import WordPiece, WordPieceTraining, train_tokenizer
from steeplechase.tasks.tokens import (
    read_sentence_starts,
    read_tokens,
    sentence_file,
    write_sentence_starts,
    write_tokens,
)
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

FIRST = len(SPECIAL_TOKENS)
LARGE = WordPiece([*SPECIAL_TOKENS, *(f"w{number}" for number in range(5000))], lowercase=True)
PAIRS: tuple[SegmentPair, ...] = (NextSentencePrediction(), SentenceOrderPrediction(), SentenceStructure())
LENGTH = 32
every_pair = pytest.mark.parametrize("objective", PAIRS, ids=lambda objective: objective.kind)


def documents(sizes: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream whose tokens rise by one, and the sentence starts; `sizes` are the sentences' by document."""
    tokens, starts, word = [], [], FIRST
    for document in sizes:
        for sentence in document:
            starts.append(len(tokens))
            tokens.extend(range(word, word + sentence))
            word += sentence
        tokens.append(LARGE.separate)
    return np.array(tokens, np.uint16), np.array(starts, np.int64)


TOKENS, STARTS = documents([[5, 7, 3, 9, 4, 6, 8, 5], [6] * 12, [4, 5], [30, 2, 30, 2], [7]] * 6)
PARTS = np.split(TOKENS, np.flatnonzero(LARGE.separate == TOKENS))
DOCUMENT_OF = {int(token): number for number, part in enumerate(PARTS) for token in part if token != LARGE.separate}


def pairs(objective: SegmentPair, length: int = LENGTH) -> SegmentPairBatches:
    return SegmentPairBatches(Text(TOKENS, STARTS, LARGE, length), objective)


def segments_of(batch: PairSequences, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both segments of a row without special tokens."""
    tokens, segments = batch.tokens[row], batch.segments[row]
    ordinary = ~np.isin(tokens, (LARGE.pad, LARGE.classify, LARGE.separate))
    return tokens[ordinary & (segments == 0)], tokens[ordinary & (segments == 1)]


def relation_of(a: np.ndarray, b: np.ndarray) -> str:
    """Return the relation of two segments, from the tokens alone."""
    if DOCUMENT_OF[int(a[0])] != DOCUMENT_OF[int(b[0])]:
        return "random"
    return "next" if a[0] < b[0] else "previous"


@every_pair
def test_a_pair_is_two_segments_between_special_tokens_and_has_the_relation_of_its_label(
    objective: SegmentPair,
) -> None:
    batch = pairs(objective).at(0, 600, 1)
    assert batch.tokens.shape == batch.segments.shape == (600, LENGTH)
    for row in range(600):
        a, b = segments_of(batch, row)
        whole = [LARGE.classify, *a, LARGE.separate, *b, LARGE.separate]
        assert batch.tokens[row].tolist() == whole + [LARGE.pad] * (LENGTH - len(whole))
        assert batch.segments[row].tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * (LENGTH - len(whole))
        assert len({DOCUMENT_OF[int(token)] for token in a}) == len({DOCUMENT_OF[int(token)] for token in b}) == 1
        assert (np.diff(a) == 1).all()
        assert (np.diff(b) == 1).all()
        assert objective.relations[batch.labels[row]] == relation_of(a, b)


@every_pair
def test_relations_have_equal_shares(objective: SegmentPair) -> None:
    """Of passages with at least two sentences; one sentence alone has no next one."""
    tokens, starts = documents([[6] * 12] * 20)
    batch = SegmentPairBatches(Text(tokens, starts, LARGE, LENGTH), objective).at(0, 3000, 1)
    counts = Counter(batch.labels.tolist())
    assert chisquare([counts[label] for label in range(len(objective.relations))]).pvalue > 1e-3


def test_next_and_previous_segments_meet_where_the_text_was_split() -> None:
    """Unless tokens were trimmed there; without trimming B begins where A ends."""
    batch = pairs(SentenceStructure(short_sequence_share=0), 128).at(0, 400, 1)
    met = 0
    for row in range(400):
        a, b = segments_of(batch, row)
        if (relation := relation_of(a, b)) != "random" and len(a) + len(b) < 125:
            first, second = (a, b) if relation == "next" else (b, a)
            assert second[0] == first[-1] + 1
            met += 1
    assert met > 100


def test_shorter_pairs_have_the_declared_share() -> None:
    tokens, starts = documents([[3] * 40] * 8)
    shares = []
    for share in (0.0, 0.5):
        objective = SentenceOrderPrediction(short_sequence_share=share)
        batch = SegmentPairBatches(Text(tokens, starts, LARGE, LENGTH), objective).at(0, 600, 1)
        shares.append(float((batch.tokens[:, -1] == LARGE.pad).mean()))
    made = SegmentPairBatches(Text(tokens, starts, LARGE, LENGTH), SentenceOrderPrediction())
    ends = 8 / made.sequences  # of documents
    assert shares[0] <= ends + 0.02
    assert 0.3 < shares[1] - shares[0] < 0.5


def test_the_longer_segment_is_trimmed_at_both_ends() -> None:
    random = np.random.default_rng(1)
    a, b = truncated(np.arange(30), np.arange(100, 108), 20, random)
    assert len(a) == 12
    assert (b == np.arange(100, 108)).all()
    assert 0 < a[0] <= a[-1] < 29
    assert (np.diff(a) == 1).all()


@pytest.mark.parametrize(("objective", "count"), [(NextSentencePrediction(), 1), (SentenceOrderPrediction(), 0)])
def test_documents_of_one_sentence_have_only_random_continuations(objective: SegmentPair, count: int) -> None:
    tokens, starts = documents([[8], [9], [7]])
    made = SegmentPairBatches(Text(tokens, starts, LARGE, LENGTH), objective)
    assert made.sequences == 3 * count
    if count:
        assert (made.at(0, 30, 1).labels == objective.relations.index("random")).all()
    else:
        with pytest.raises(DataError, match="no document has 2 sentences"):
            made.at(0, 1, 1)


@pytest.mark.parametrize("objective", [NextSentencePrediction(), SentenceStructure()])
def test_a_text_of_one_document_is_refused_where_a_random_segment_is_needed(objective: SegmentPair) -> None:
    tokens, starts = documents([[6] * 9])
    with pytest.raises(DataError, match="the text is one document"):
        SegmentPairBatches(Text(tokens, starts, LARGE, LENGTH), objective).at(0, 1, 1)
    order = SegmentPairBatches(Text(tokens, starts, LARGE, LENGTH), SentenceOrderPrediction())
    assert set(order.at(0, 40, 1).labels.tolist()) == {0, 1}


def test_equal_segments_have_no_order() -> None:
    tokens = np.array([FIRST, FIRST + 1] * 2 + [LARGE.separate], np.uint16)
    batch = SegmentPairBatches(Text(tokens, np.array([0, 2]), LARGE, LENGTH), SentenceOrderPrediction()).at(0, 5, 1)
    assert (batch.labels == UNDEFINED).all()


TEXTS = [
    'The loss is 3.5 nats. It falls, e.g. by half! "Does it?" Yes.\nA new line\n\nand another',
    "",
    "one sentence without an end",
    "...",
]


def test_sentences_begin_after_a_full_stop_and_white_space_and_on_every_line(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(WordPieceTraining(), TEXTS * 3, 120)
    write_tokens(TEXTS, len(TEXTS), tokenizer, tmp_path / "train.npy", silent)
    assert write_sentence_starts(TEXTS, tokenizer, sentence_file(tmp_path, "train")) == 2
    tokens, starts = read_tokens(tmp_path / "train.npy"), read_sentence_starts(sentence_file(tmp_path, "train"))
    found = [
        "".join(tokenizer.pieces[token].removeprefix("##") for token in part if token != tokenizer.separate)
        for part in np.split(tokens, starts)[1:]
    ]
    assert found == [
        "thelossis3.5nats.", "itfalls,e.g.", "byhalf!", '"doesit?"', "yes.", "anewline", "andanother",
        "onesentencewithoutanend", "...",
    ]  # fmt: skip


def test_damaged_sentence_starts_are_refused(tmp_path: Path) -> None:
    path = sentence_file(tmp_path, "train")
    with pytest.raises(CorruptionError):
        read_sentence_starts(path)
    np.save(path, np.array([3, 2]))
    with pytest.raises(CorruptionError, match="rising"):
        read_sentence_starts(path)
