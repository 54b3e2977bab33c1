"""Planted corpora: generated text in which one mechanism, and nothing else, predicts a word."""

from abc import abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, ClassVar

from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import Count, JsonValue, Seed
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.progress import Progress, place

if TYPE_CHECKING:
    import numpy as np  # `plan` reads declarations without it

GENERATION_VERSION = 1  # incremented when the documents of the same declaration change
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxyz", "aeiou"


class PlantedCorpus(CorpusOption):
    """Documents of sentences of made-up words; each is a function of the declaration and its number."""

    document_count: Count = 400
    """Number of documents."""
    document_sentences: Count = 20
    """Sentences of every document."""
    seed: Seed = 1
    """Seed of the generation."""
    kind: str
    sizes: ClassVar[tuple[str, ...]]
    """The names of the constants of the text, which are part of its identity."""

    @property
    @abstractmethod
    def word_count(self) -> int:
        """Number of different words."""

    @abstractmethod
    def sentence(self, random: "np.random.Generator") -> list[int]:
        """Return the numbers of the words of one sentence."""

    def inputs(self) -> JsonValue:
        """Return the declaration, the constants of the text, and the version of the generator."""
        sizes = {name: getattr(self, name) for name in self.sizes}
        declared = self.model_dump(mode="json", exclude={"split_seed"})  # the stage has it, where it is not 0
        return {"generation_version": GENERATION_VERSION, **declared, **sizes}

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield every document; return 0, since none is unreadable."""
        words, count = made_up_words(self.word_count), self.document_count
        for number in range(count):
            progress(place("generating", "document", number + 1, count), number / count)
            random = stream(self.seed, self.kind, number)
            sentences = (self.sentence(random) for _ in range(self.document_sentences))
            yield Document(
                f"planted {number}", " ".join(_written([words[each] for each in one]) for one in sentences)
            )
        return 0


def made_up_words(count: int) -> list[str]:
    """Return `count` different words of two syllables, whose letters say nothing of their numbers."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    words = [first + second for first in syllables for second in syllables]
    order = stream(0, "made-up words").permutation(len(words))
    return [words[each] for each in order[:count].tolist()]


def _written(words: list[str]) -> str:
    return f"{' '.join(words).capitalize()}."
