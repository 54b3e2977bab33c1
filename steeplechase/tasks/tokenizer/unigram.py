"""Unigram: the segmentation with the largest product of piece probabilities. Kudo 2018, arXiv 1804.10959 (ALBERT).

Decoded text is in Unicode form NFKC, cleaned as BERT does, with single spaces and none at the ends.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.tokenizer.library import Pipeline, library
from steeplechase.tasks.tokenizer.tokenizer import Tokenizer, TokenizerOption, exactly
from steeplechase.tasks.vocabulary import SCORES_FILE, SPECIAL_TOKENS, alphabet_of, read_scores, scores_text

TRAINING_VERSION = 1  # incremented when the vocabulary of the same texts changes
SPACE = "▁"
CONTROL = "\0"
"""Begins the special pieces inside the model. No normalised text contains it, so that no text gives such a piece."""


class UnigramOption(TokenizerOption):
    """A unigram language model of pieces, learned from the corpus's train split or given (XLNet, ALBERT)."""

    kind: Literal["unigram"] = "unigram"
    """Chooses a unigram language model of pieces."""
    path: str | None = None
    """A given vocabulary in the form of SentencePiece's .vocab: a piece, a tab, its log-probability. Default: learned
    from the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def inputs(self) -> JsonValue:
        """Return the settings, or the sha256 of the given file; raises DataError where it is wrong."""
        if self.path is None:
            return {"kind": self.kind, "lowercase": self.lowercase, "training_version": TRAINING_VERSION}
        given = Unigram(*read_scores(resolved(self.path)), self.lowercase)
        return {"kind": self.kind, "lowercase": self.lowercase, "sha256": given.vocabulary_hash}

    def tokenizer(self, texts: Iterable[str], vocabulary_size: int) -> "Unigram":
        """Return the given tokenizer, or one trained on the texts, of exactly `vocabulary_size` pieces."""
        if self.path is not None:
            return Unigram(*read_scores(resolved(self.path), vocabulary_size), self.lowercase)
        from steeplechase.tasks.tokenizer.unigram_training import learned_pieces  # imports numpy, only now needed

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
