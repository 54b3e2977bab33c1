"""A planted corpus of pairs of words: the first word of a pair is determined by the second, not by those before."""

from typing import TYPE_CHECKING, ClassVar, Literal

from steeplechase.foundation.randomness import stream
from steeplechase.tasks.corpora.planted import PlantedCorpus

if TYPE_CHECKING:
    import numpy as np


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
        partners = stream(self.seed, "partners").permutation(self.pair_words).tolist()
        seconds = random.integers(0, self.pair_words, self.sentence_pairs).tolist()
        return [word for second in seconds for word in (self.pair_words + partners[second], second)]
