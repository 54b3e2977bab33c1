"""A tokenizer with words as further tokens behind its vocabulary. BERTRAM: Schick and Schütze 2020, 1910.07181."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.rare_words.rarification import WORD
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets
from steeplechase.tasks.tokenizer.library import Pipeline

SLASH = "/"


class TokenizerWithWords(Tokenizer):
    """Encodes each of `words`, in any case, as one token: `vocabulary_size` plus its number among them.

    With `slash`, a word keeps its pieces, and a slash and its token follow: two tokens more. Only whole words are
    found; the text between them is encoded by the given tokenizer, without the white space before a word.
    """

    kind = "with_words"

    def __init__(self, tokenizer: Tokenizer, words: Sequence[str], slash: bool) -> None:
        """Raise DataError if the vocabulary has no slash and one is needed."""
        super().__init__(tokenizer.pieces, tokenizer.lowercase)
        self._inner, self._slash = tokenizer, slash
        self._tokens = {word: tokenizer.vocabulary_size + number for number, word in enumerate(words)}
        (self._between,) = tokenizer.encode([SLASH]) if slash else ([],)
        if slash and (len(self._between) != 1 or self._between[0] == tokenizer.unknown):
            raise DataError("rarified, usage slash: the vocabulary has no slash of one token; use replace")

    @classmethod
    def read(cls, folder: Path, lowercase: bool) -> "TokenizerWithWords":
        """Refuse: it is made of a saved tokenizer and never saved itself."""
        raise NotImplementedError

    @property
    def file_texts(self) -> tuple[str, ...]:
        """The texts of the vocabulary files, without the words."""
        return self._inner.file_texts

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special tokens."""
        return [text.tokens for text in self.encode_with_offsets(texts)]

    def encode_with_offsets(self, texts: Sequence[str]) -> list[TokensWithOffsets]:
        """Return the tokens of each text with their character spans; what stands for a word has the word's span."""
        parts = [[*self._parts(text)] for text in texts]
        pieces = iter(self._inner.encode_with_offsets([part for row in parts for _, part, _ in row]))
        found = []
        for row in parts:
            tokens: list[int] = []
            offsets: list[tuple[int, int]] = []
            for start, part, word in row:
                encoded = next(pieces)
                spans = [(start + first, start + last) for first, last in encoded.offsets]
                if word is None:
                    added = encoded.tokens
                else:
                    added = [*encoded.tokens, *self._between, word] if self._slash else [word]
                    spans = [(start, start + len(part))] * len(added)
                tokens += added
                offsets += spans
            found.append(TokensWithOffsets(tokens, offsets))
        return found

    def _parts(self, text: str) -> Iterator[tuple[int, str, int | None]]:
        """Yield the start and the text of every word with its token, and of what is between them with None."""
        end = 0
        for match in WORD.finditer(text):
            word = self._tokens.get(match.group().lower())
            if word is not None:
                yield end, text[end : match.start()].rstrip(), None
                yield match.start(), match.group(), word
                end = match.end()
        yield end, text[end:], None

    def _pipeline(self) -> Pipeline:
        return self._inner._pipeline()

    def _begins_word(self, piece: str) -> bool:
        return self._inner._begins_word(piece)

    def _ends_word(self, piece: str) -> bool:
        return self._inner._ends_word(piece)
