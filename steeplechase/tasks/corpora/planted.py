"""Planted corpora: generated text in which one mechanism, and nothing else, predicts a word."""

from abc import abstractmethod
from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

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
            yield Document(f"planted {number}", self.text(words, stream(self.seed, self.kind, number)))
        return 0

    def text(self, words: list[str], random: "np.random.Generator") -> str:
        """Return the sentences of a document."""
        sentences = (self.sentence(random) for _ in range(self.document_sentences))
        return " ".join(f"{' '.join(words[each] for each in one).capitalize()}." for one in sentences)


def made_up_words(count: int) -> list[str]:
    """Return `count` different words of two syllables, whose letters say nothing of their numbers."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    words = [first + second for first in syllables for second in syllables]
    order = stream(0, "made-up words").permutation(len(words))
    return [words[each] for each in order[:count].tolist()]


class PlantedCycle(PlantedCorpus):
    """Sentences of words whose class follows from that of their neighbours; word order is the grammar alone."""

    kind: Literal["planted_cycle"] = "planted_cycle"
    """Chooses the generated text of a cycle of word classes."""
    classes: ClassVar[int] = 3
    """Number of classes; a sentence begins with any of them."""
    class_words: ClassVar[int] = 11
    """Words of every class."""
    sentence_words: ClassVar[int] = 12
    """Words of every sentence."""
    sizes: ClassVar[tuple[str, ...]] = ("classes", "class_words", "sentence_words")

    @property
    def word_count(self) -> int:
        """Words of all classes."""
        return self.classes * self.class_words

    def sentence(self, random: "np.random.Generator") -> list[int]:
        """Return words whose classes follow each other from a random one."""
        first = int(random.integers(self.classes))
        members = random.integers(0, self.class_words, self.sentence_words).tolist()
        return [(place + first) % self.classes * self.class_words + member for place, member in enumerate(members)]


class PlantedPairs(PlantedCorpus):
    """Sentences of pairs (partner of r, r) with a random r: the first word is predicted from the second alone."""

    kind: Literal["planted_pairs"] = "planted_pairs"
    """Chooses the generated text of pairs."""
    pair_words: ClassVar[int] = 16
    """Number of different second words; each has one partner, which is in no other pair."""
    sentence_pairs: ClassVar[int] = 6
    """Pairs of every sentence."""
    sizes: ClassVar[tuple[str, ...]] = ("pair_words", "sentence_pairs")

    @property
    def word_count(self) -> int:
        """Second words and their partners."""
        return 2 * self.pair_words

    def sentence(self, random: "np.random.Generator") -> list[int]:
        """Return pairs, partners first."""
        partners = partners_of(self.seed, self.pair_words)
        seconds = random.integers(0, self.pair_words, self.sentence_pairs).tolist()
        return [word for second in seconds for word in (self.pair_words + partners[second], second)]


@cache
def partners_of(seed: int, pair_words: int) -> tuple[int, ...]:
    """Return the number of the partner of each second word, drawn from the seed."""
    return tuple(stream(seed, "partners").permutation(pair_words).tolist())


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

    def text(self, words: list[str], random: "np.random.Generator") -> str:
        """Return the words of one period, `document_sentences` times."""
        period = " ".join(words[each] for each in self.sentence(random))
        return " ".join([period] * self.document_sentences)
