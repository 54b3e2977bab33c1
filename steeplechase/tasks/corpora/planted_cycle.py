"""A planted corpus of a grammar: classes of words follow each other in a cycle; the word of a class is random."""

from typing import TYPE_CHECKING, ClassVar, Literal

from steeplechase.tasks.corpora.planted import PlantedCorpus

if TYPE_CHECKING:
    import numpy as np


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
