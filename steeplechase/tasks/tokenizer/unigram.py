"""Unigram: the segmentation with the largest product of piece probabilities. Kudo 2018, arXiv 1804.10959 (ALBERT).

Decoded text is in Unicode form NFKC, cleaned as BERT does, with single spaces and none at the ends.

Training of a unigram language model of pieces. Kudo 2018, arXiv 1804.10959, section 3.2, by Viterbi training.

Every piece that occurs is a candidate at first; the segmentations and the probabilities are estimated in turns, and
the pieces whose loss changes the likelihood least are removed until the size is reached. Counts are those of the best
segmentations and not expectations over all, because they are whole numbers: the library's trainer adds fractions in
the order of a randomly seeded hash table, so that two processes learn different probabilities from the same texts.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from steeplechase.foundation.numpy_on_use import np
from steeplechase.tasks.tokenizer.library import Pipeline, library
from steeplechase.tasks.tokenizer.tokenizer import LearnedOption, Tokenizer, exactly
from steeplechase.tasks.vocabulary import SCORES_FILE, SPECIAL_TOKENS, alphabet_of, read_scores, scores_text

SPACE = "▁"
CONTROL = "\0"
"""Begins the special pieces inside the model. No normalised text contains it, so that no text gives such a piece."""


class UnigramOption(LearnedOption):
    """A unigram language model of pieces, learned from the corpus's train split or given (XLNet, ALBERT)."""

    kind: Literal["unigram"] = "unigram"
    """Chooses a unigram language model of pieces."""
    path: str | None = None
    """A given vocabulary in the form of SentencePiece's .vocab: a piece, a tab, its log-probability. Default: learned
    from the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def given(self, path: Path, vocabulary_size: int | None = None) -> "Unigram":
        """Return the tokenizer of a .vocab file."""
        return Unigram(*read_scores(path, vocabulary_size), self.lowercase)

    def trained(self, texts: Iterable[str], vocabulary_size: int) -> "Unigram":
        """Return the tokenizer of the pieces that `learned_pieces` finds."""
        split, words = _pipeline_of(library().models.Unigram(), self.lowercase), Counter[str]()
        for text in texts:
            normalised = split.normalizer.normalize_str(text)
            words.update(word for word, _ in split.pre_tokenizer.pre_tokenize_str(normalised))
        alphabet = alphabet_of(words.elements(), vocabulary_size)
        pieces, scores = learned_pieces(words, alphabet, vocabulary_size - len(SPECIAL_TOKENS))
        every = exactly(vocabulary_size, [*SPECIAL_TOKENS, *pieces])
        return Unigram(every, [0.0] * len(SPECIAL_TOKENS) + scores, self.lowercase)


class Unigram(Tokenizer):
    """A tokenizer by the most probable segmentation; a token contains the space before its word."""

    kind = "unigram"
    file_names: ClassVar[tuple[str, ...]] = (SCORES_FILE,)
    spaces_in_tokens = True

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], lowercase: bool) -> None:
        super().__init__(pieces, lowercase)
        self.scores = tuple(scores)

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "Unigram":
        """Return the tokenizer of a folder's vocabulary file. Raises DataError where it is wrong."""
        return cls(*read_scores(folder / SCORES_FILE), lowercase)

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The text of the vocabulary file."""
        return (scores_text(self.pieces, self.scores),)

    def _pipeline(self) -> Pipeline:
        hidden = [CONTROL + piece if piece in self.special_pieces else piece for piece in self.pieces]
        rows = list(zip(hidden, self.scores, strict=True))
        return _pipeline_of(library().models.Unigram(rows, unk_id=self.unknown), self.lowercase)

    def library_document(self) -> str:
        """Return the library's own JSON, with the special pieces under their names, by which programs find them."""
        return super().library_document().replace(json.dumps(CONTROL)[1:-1], "")

    def _begins_word(self, piece: str) -> bool:
        return piece.startswith(SPACE)

    def _span(self, text: str, token: int, span: tuple[int, int]) -> tuple[int, int]:
        start, end = super()._span(text, token, span)
        return (start, start) if self.pieces[token] == SPACE else (start, end)  # the first word's is not in the text


def _pipeline_of(model: object, lowercase: bool) -> Pipeline:
    door = library()
    pipeline: Pipeline = door.Tokenizer(model)
    pipeline.normalizer = door.normalizers.Sequence(
        [
            door.normalizers.NFKC(),
            door.normalizers.BertNormalizer(handle_chinese_chars=False, lowercase=lowercase),
            door.normalizers.Replace(door.Regex(f"[ {SPACE}]+"), " "),
            door.normalizers.Strip(),
        ]
    )
    pipeline.pre_tokenizer = door.pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    pipeline.decoder = door.decoders.Metaspace(replacement=SPACE, prepend_scheme="always")
    return pipeline


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
