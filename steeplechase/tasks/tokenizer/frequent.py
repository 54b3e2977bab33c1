"""The most frequent words, or single characters, of the corpus."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from steeplechase.tasks.tokenizer.library import Pipeline, bert_pipeline, library
from steeplechase.tasks.tokenizer.tokenizer import LearnedOption, Tokenizer, exactly, most_frequent
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, read_pieces


class WordOption(LearnedOption):
    """The most frequent words of the corpus's train split, or a given list of words."""

    kind: Literal["word"] = "word"
    """Chooses whole words."""
    path: str | None = None
    """A given vocabulary, one word to a line. Default: the most frequent words of the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def given(self, path: Path, vocabulary_size: int | None = None) -> "Word":
        """Return the tokenizer of a list of pieces."""
        return Word(read_pieces(path, vocabulary_size), self.lowercase)

    def trained(self, texts: Iterable[str], vocabulary_size: int) -> "Word":
        """Return the tokenizer of the most frequent pieces."""
        split = bert_pipeline(library().models.WordLevel(), self.lowercase)
        words = most_frequent(_words(split, texts), vocabulary_size - len(SPECIAL_TOKENS))
        return Word(exactly(vocabulary_size, [*SPECIAL_TOKENS, *words]), self.lowercase)


def _words(split: Pipeline, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        normalised = split.normalizer.normalize_str(text)
        yield from (word for word, _ in split.pre_tokenizer.pre_tokenize_str(normalised))


class Word(Tokenizer):
    """A tokenizer whose tokens are whole words.

    The most frequent words of the corpus; the rest is unknown (Transformer-XL). Decoded text is normalised as BERT
    does, with single spaces between words and around punctuation.
    """

    kind = "word"

    def _pipeline(self) -> Pipeline:
        identifiers = {piece: number for number, piece in enumerate(self.pieces)}
        model = library().models.WordLevel(identifiers, unk_token=self.pieces[self.unknown])
        return bert_pipeline(model, self.lowercase)

    def _begins_word(self, piece: str) -> bool:
        return True


SPACE = "▁"
"""A space in the vocabulary file, in which no piece is white space."""


class CharacterOption(LearnedOption):
    """The characters of the corpus's train split, or a given list of them (enwik8, text8).

    Al-Rfou et al. 2019, arXiv 1808.04444.
    """

    kind: Literal["character"] = "character"
    """Chooses single characters."""
    path: str | None = None
    """A given vocabulary, one character to a line, the space as "▁". Default: the characters of the corpus."""
    lowercase: bool = True
    """Lower-case the text and strip accents."""

    def given(self, path: Path, vocabulary_size: int | None = None) -> "Character":
        """Return the tokenizer of a list of pieces."""
        return Character(read_pieces(path, vocabulary_size), self.lowercase)

    def trained(self, texts: Iterable[str], vocabulary_size: int) -> "Character":
        """Return the tokenizer of the most frequent pieces."""
        normalise = _normaliser(self.lowercase).normalize_str
        characters = (character for text in texts for character in normalise(text))
        pieces = [*SPECIAL_TOKENS, *most_frequent(characters, vocabulary_size - len(SPECIAL_TOKENS))]
        return Character(exactly(vocabulary_size, pieces), self.lowercase)


class Character(Tokenizer):
    """A tokenizer whose tokens are single characters.

    The most frequent characters of the corpus. Al-Rfou et al. 2019, arXiv 1808.04444. Decoded text is the text in
    lower case if so declared, with every white space as a space and no control characters.
    """

    kind = "character"

    def _pipeline(self) -> Pipeline:
        door = library()
        identifiers = {piece: number for number, piece in enumerate(self.pieces)}
        pipeline: Pipeline = door.Tokenizer(door.models.WordLevel(identifiers, unk_token=self.pieces[self.unknown]))
        pipeline.normalizer = _normaliser(self.lowercase)
        pipeline.pre_tokenizer = door.pre_tokenizers.Split(door.Regex(r"[\s\S]"), "isolated")
        pipeline.decoder = door.decoders.Sequence([door.decoders.Replace(SPACE, " "), door.decoders.Fuse()])
        return pipeline

    def _begins_word(self, piece: str) -> bool:
        return False  # the space before it ends one

    def _ends_word(self, piece: str) -> bool:
        return piece == SPACE


def _normaliser(lowercase: bool) -> Any:
    normalizers = library().normalizers
    cleaned = normalizers.BertNormalizer(handle_chinese_chars=False, lowercase=lowercase)
    return normalizers.Sequence([cleaned, normalizers.Replace(" ", SPACE)])
