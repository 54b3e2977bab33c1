"""What packings and corruptions read of a tokenizer; `tasks/tokenizer` has the tokenizers themselves."""

from collections.abc import Hashable, Sequence
from typing import Protocol


class SpecialTokens(Hashable, Protocol):
    """The pieces of a vocabulary, and the identifiers of its special ones."""

    @property
    def pieces(self) -> Sequence[str]:
        """The text of every token."""

    @property
    def pad(self) -> int:
        """The token behind the end of a short sequence."""

    @property
    def classify(self) -> int:
        """[CLS], the first token of a sequence."""

    @property
    def separate(self) -> int:
        """[SEP], the end of a segment and of a document."""

    @property
    def mask(self) -> int:
        """[MASK], in the place of a hidden token."""
