"""Byte-pair encoding of UTF-8 bytes: no text is unknown. Radford et al. 2019 (GPT-2), section 2.2; RoBERTa.

Decoded text is the text, byte for byte: nothing is normalised.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer.bpe import MINIMUM_FREQUENCY, Bpe
from steeplechase.tasks.tokenizer.library import PLAIN_MERGES, Pipeline, learned_merges, library, pieces_in_order
from steeplechase.tasks.tokenizer.tokenizer import LearnedOption, exactly
from steeplechase.tasks.tokenizer_file import Settings
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, read_merges

WHITE_SPACE = tuple("ĠĊĉčċČ")
"""The bytes of a space, of line breaks and of tabs, as the library writes them."""


SETTINGS: Settings = {
    **PLAIN_MERGES,
    ("model", "end_of_word_suffix"): ("", None),
    ("normalizer", "type"): (None,),
    ("pre_tokenizer", "type"): ("ByteLevel",),
    ("pre_tokenizer", "add_prefix_space"): (False,),
    ("pre_tokenizer", "use_regex"): (True, None),
}
"""Of a tokenizer.json that tokenizes as this does."""


class ByteBpeOption(LearnedOption):
    """Byte-pair encoding of bytes, learned from the corpus's train split or given (GPT-2, RoBERTa, BART)."""

    kind: Literal["byte_bpe"] = "byte_bpe"
    """Chooses byte-pair encoding of bytes."""
    path: str | None = None
    """A given vocabulary: a folder with vocab.json and merges.txt, as RoBERTa's, or a tokenizer.json. Default:
    learned from the corpus."""

    def given(self, path: Path, vocabulary_size: int | None = None) -> "ByteBpe":
        """Return the tokenizer of vocab.json and merges.txt, or of a tokenizer.json."""
        return ByteBpe(*read_merges(path, vocabulary_size, SETTINGS), False)

    def trained(self, texts: Iterable[str], vocabulary_size: int) -> "ByteBpe":
        """Train with all bytes as first pieces. Raises DataError for fewer pieces."""
        untrained = _pipeline_of(library().models.BPE())
        initial = [*SPECIAL_TOKENS, *sorted(library().pre_tokenizers.ByteLevel.alphabet())]
        if vocabulary_size < len(initial):
            raise DataError(f"vocabulary_size {vocabulary_size}: bytes and special tokens are {len(initial)} pieces")
        trainer = library().trainers.BpeTrainer(
            vocab_size=vocabulary_size, min_frequency=MINIMUM_FREQUENCY, special_tokens=initial, show_progress=False
        )
        untrained.train_from_iterator(texts, trainer)
        return ByteBpe(exactly(vocabulary_size, pieces_in_order(untrained)), learned_merges(untrained), False)


class ByteBpe(Bpe):
    """A tokenizer by merges of bytes; a token may be a part of a character, and contains the space before a word."""

    kind = "byte_bpe"
    spaces_in_tokens = True

    def _pipeline(self) -> Pipeline:
        identifiers = {piece: number for number, piece in enumerate(self.pieces)}
        return _pipeline_of(library().models.BPE(identifiers, list(self.merges)))

    def _begins_word(self, piece: str) -> bool:
        return piece.startswith(WHITE_SPACE)

    def _ends_word(self, piece: str) -> bool:
        return piece.endswith(WHITE_SPACE)


def _pipeline_of(model: object) -> Pipeline:
    pipeline: Pipeline = library().Tokenizer(model)
    pipeline.pre_tokenizer = library().pre_tokenizers.ByteLevel(add_prefix_space=False)
    pipeline.decoder = library().decoders.ByteLevel()
    return pipeline
