"""A planted corpus of periods: a document repeats its words, each of which is known from one period before alone."""

from typing import TYPE_CHECKING, ClassVar, Literal

from steeplechase.foundation.randomness import stream
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.planted import PlantedCorpus, made_up_words
from steeplechase.tasks.progress import Progress, place

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np


class PlantedPeriod(PlantedCorpus):
    """Documents in which the same words, drawn anew for each, follow one another again and again."""

    kind: Literal["planted_period"] = "planted_period"
    """Chooses the generated text of periods."""
    period_words: ClassVar[int] = 12
    """Words of a period; a model that reads fewer tokens before a word is at a guess."""
    different_words: ClassVar[int] = 16
    """Different words; those of a period are drawn from them, each word as likely as another."""
    sizes: ClassVar[tuple[str, ...]] = ("period_words", "different_words")

    @property
    def word_count(self) -> int:
        """Different words."""
        return self.different_words

    def sentence(self, random: "np.random.Generator") -> list[int]:
        """Return the words of a period."""
        return [int(word) for word in random.integers(0, self.different_words, self.period_words)]

    def documents(self, progress: Progress) -> "Generator[Document, None, int]":
        """Yield every document, its period `document_sentences` times; return 0, since none is unreadable."""
        words, count = made_up_words(self.word_count), self.document_count
        for number in range(count):
            progress(place("generating", "document", number + 1, count), number / count)
            period = self.sentence(stream(self.seed, self.kind, number))
            text = " ".join(words[each] for each in period)
            yield Document(f"planted {number}", " ".join([text] * self.document_sentences))
        return 0
