"""Training of a unigram language model of pieces. Kudo 2018, arXiv 1804.10959, section 3.2, by Viterbi training.

Every piece that occurs is a candidate at first; the segmentations and the probabilities are estimated in turns, and
the pieces whose loss changes the likelihood least are removed until the size is reached. Counts are those of the best
segmentations and not expectations over all, because they are whole numbers: the library's trainer adds fractions in
the order of a randomly seeded hash table, so that two processes learn different probabilities from the same texts.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from steeplechase.tasks.tokenizer.library import library

MOST_WORDS = 100_000  # the most frequent ones; the rest adds few pieces and much memory
LONGEST_PIECE = 16  # characters, as in SentencePiece
CANDIDATES_PER_PIECE = 10
KEPT_SHARE = 0.75  # of the pieces, at each removal; as in SentencePiece
ESTIMATIONS = 2  # before each removal; as in SentencePiece
LEAST_COUNT = 0.5  # of a piece in no best segmentation
DECIMALS = 6

Scores = dict[str, float]


def learned_pieces(words: Mapping[str, int], alphabet: Sequence[str], size: int) -> tuple[list[str], list[float]]:
    """Return at most `size` pieces, each with its log-probability, the most probable first.

    `words` are counted as the pipeline splits them. Every character of the alphabet is a piece.
    """
    ranked = sorted(words, key=lambda word: (-words[word], word))[:MOST_WORDS]
    counts = {word: words[word] for word in sorted(ranked)}
    scores = _candidates(counts, alphabet, size)
    while True:
        for _ in range(ESTIMATIONS):
            used = _best_counts(counts, scores)
            total = sum(used.values())
            scores = {piece: math.log(max(used[piece], LEAST_COUNT) / total) for piece in scores}
        if len(scores) <= size:
            break
        kept = max(size, int(KEPT_SHARE * len(scores)))
        scores = _most_useful(scores, used, kept, frozenset(alphabet))
    order = sorted(scores, key=lambda piece: (-round(scores[piece], DECIMALS), piece))
    return order, [round(scores[piece], DECIMALS) for piece in order]


def _candidates(words: Mapping[str, int], alphabet: Sequence[str], size: int) -> Scores:
    """Return the characters and the substrings with the most characters in all, at first scores."""
    known, found = frozenset(alphabet), Counter[str]()
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(start + LONGEST_PIECE, len(word)) + 1):
                found[word[start:end]] += count
    longer = [piece for piece, count in found.items() if len(piece) > 1 and count > 1 and known.issuperset(piece)]
    ranked = sorted(longer, key=lambda piece: (-found[piece] * len(piece), piece))
    chosen = [*sorted(known), *ranked[: CANDIDATES_PER_PIECE * size]]
    covered = {piece: max(found[piece] * len(piece), 1) for piece in chosen}
    total = sum(covered.values())
    return {piece: math.log(count / total) for piece, count in covered.items()}


def _best_counts(words: Mapping[str, int], scores: Scores) -> dict[str, int]:
    """Return how often each piece is in the best segmentations of all words."""
    door, pieces = library(), list(scores)
    model = door.models.Unigram([("\0", 0.0), *scores.items()], unk_id=0)
    encodings = door.Tokenizer(model).encode_batch_fast(list(words))
    lengths = [len(encoding.ids) for encoding in encodings]
    tokens = np.fromiter((token for encoding in encodings for token in encoding.ids), np.int64, sum(lengths))
    occurrences = np.repeat(np.fromiter(words.values(), np.int64, len(words)), lengths)
    counts = np.zeros(len(pieces) + 1, np.int64)
    np.add.at(counts, tokens, occurrences)
    return dict(zip(pieces, counts[1:].tolist(), strict=True))


def _most_useful(scores: Scores, used: Mapping[str, int], kept: int, alphabet: frozenset[str]) -> Scores:
    """Return the characters and the pieces whose removal would cost the most likelihood, `kept` in all."""
    losses = {
        piece: used[piece] * (scores[piece] - _score_without(piece, scores)) if used[piece] else 0.0
        for piece in scores
        if piece not in alphabet
    }
    ranked = sorted(losses, key=lambda piece: (-losses[piece], piece))
    return {piece: scores[piece] for piece in (*sorted(alphabet), *ranked[: max(0, kept - len(alphabet))])}


def _score_without(piece: str, scores: Scores) -> float:
    """Return the log-probability of the best segmentation of a piece into others; its characters are pieces."""
    best = [0.0] + [-math.inf] * len(piece)
    for end in range(1, len(piece) + 1):
        for start in range(end):
            part = piece[start:end]
            if part in scores and part != piece:
                best[end] = max(best[end], best[start] + scores[part])
    return best[-1]
