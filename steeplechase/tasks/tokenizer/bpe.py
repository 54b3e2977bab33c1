"""Byte-pair encoding of characters. Sennrich et al. 2016, arXiv 1508.07909; GPT's form, with "</w>" at ends of words.

Decoded text is normalised as BERT does, with single spaces between words and around punctuation.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

from steeplechase.tasks.tokenizer.library import (
    PLAIN_MERGES,
    Pipeline,
    bert_pipeline,
    bert_settings,
    learned_merges,
    library,
    pieces_in_order,
)
from steeplechase.tasks.tokenizer.tokenizer import LearnedOption, Tokenizer, exactly
from steeplechase.tasks.tokenizer_file import Settings
from steeplechase.tasks.vocabulary import (
    MERGES_FILE,
    NUMBERED_FILE,
    OTHER_SPECIAL_TOKENS,
    SPECIAL_TOKENS,
    alphabet_of,
    merges_text,
    numbered_text,
    read_merges,
)

MINIMUM_FREQUENCY = 2  # a merge that occurs once is not learned
END_OF_WORD = "</w>"


class BpeOption(LearnedOption):
    """Byte-pair encoding of characters, learned from the corpus's train split or given (Transformer, GPT)."""

    kind: Literal["bpe"] = "bpe"
    """Chooses byte-pair encoding of characters."""
    path: str | None = None
    """A given vocabulary: a folder with vocab.json and merges.txt, or a tokenizer.json. Default: learned."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def given(self, path: Path, vocabulary_size: int | None = None) -> "Bpe":
        """Return the tokenizer of vocab.json and merges.txt, or of a tokenizer.json."""
        return Bpe(*read_merges(path, vocabulary_size, self._settings), self.lowercase)

    @property
    def _settings(self) -> Settings:
        """The settings of a tokenizer.json that tokenizes as this does."""
        of_model: Settings = {
            ("model", "end_of_word_suffix"): (END_OF_WORD,),
            ("model", "unk_token"): (SPECIAL_TOKENS[1], *OTHER_SPECIAL_TOKENS[1]),
        }
        return {**PLAIN_MERGES, **of_model, **bert_settings(self.lowercase)}

    def trained(self, texts: Iterable[str], vocabulary_size: int) -> "Bpe":
        """Train with all one-character pieces given in sorted order, so that no number depends on a hash table."""
        texts = list(texts)
        untrained = bert_pipeline(_model([], [], "[UNK]"), self.lowercase)
        alphabet = alphabet_of(map(untrained.normalizer.normalize_str, texts), vocabulary_size)
        trainer = library().trainers.BpeTrainer(
            vocab_size=vocabulary_size,
            min_frequency=MINIMUM_FREQUENCY,
            special_tokens=[*SPECIAL_TOKENS, *alphabet, *(character + END_OF_WORD for character in alphabet)],
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            end_of_word_suffix=END_OF_WORD,
            show_progress=False,
        )
        untrained.train_from_iterator(texts, trainer)
        pieces = exactly(vocabulary_size, pieces_in_order(untrained))
        return Bpe(pieces, learned_merges(untrained), self.lowercase)


class Bpe(Tokenizer):
    """A tokenizer by merges of characters; a character outside the alphabet is the unknown token."""

    kind = "bpe"
    file_names = (NUMBERED_FILE, MERGES_FILE)

    def __init__(self, pieces: Sequence[str], merges: Sequence[tuple[str, str]], lowercase: bool) -> None:
        super().__init__(pieces, lowercase)
        self.merges = tuple(merges)

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> Self:
        """Return the tokenizer of a folder's vocab.json and merges.txt. Raises DataError where they are wrong."""
        return cls(*read_merges(folder), lowercase)

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The texts of vocab.json and merges.txt."""
        return numbered_text(self.pieces), merges_text(self.merges)

    def _pipeline(self) -> Pipeline:
        pipeline = bert_pipeline(_model(self.pieces, self.merges, self.pieces[self.unknown]), self.lowercase)
        pipeline.decoder = library().decoders.BPEDecoder(suffix=END_OF_WORD)
        return pipeline

    def _begins_word(self, piece: str) -> bool:
        return False  # the token before it ends one

    def _ends_word(self, piece: str) -> bool:
        return piece.endswith(END_OF_WORD)


def _model(pieces: Sequence[str], merges: Sequence[tuple[str, str]], unknown: str) -> object:
    identifiers = {piece: number for number, piece in enumerate(pieces)}
    model: object = library().models.BPE(
        identifiers, list(merges), unk_token=unknown, end_of_word_suffix=END_OF_WORD, fuse_unk=False
    )
    return model
