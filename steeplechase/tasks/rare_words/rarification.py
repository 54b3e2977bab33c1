"""Rarified examples: the label depends on a word, which is replaced by a rare synonym.

Schick and Schütze 2020, BERTRAM, arXiv 1910.07181, section 4.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from steeplechase.foundation.randomness import stream
from steeplechase.tasks.labelled.task import Example

WORD = re.compile(r"\w+")
DRAWING_SEED = 19100718  # arbitrary; independent of the seeds of an experiment
Classifier = Callable[[Sequence[Example]], Sequence[int]]
"""From examples to labels."""


@dataclass(frozen=True)
class Place:
    """A word of an example: a side, first or second, and the characters from `start` to `end`."""

    side: str
    start: int
    end: int

    def word_in(self, example: Example) -> str:
        """Return the word at the place."""
        return str(getattr(example, self.side))[self.start : self.end]

    def with_word(self, example: Example, word: str) -> Example:
        """Return the example with another word at the place, or without one."""
        text = str(getattr(example, self.side))
        changed = f"{text[: self.start]}{word}{text[self.end :]}"
        return replace(example, first=changed) if self.side == "first" else replace(example, second=changed)


@dataclass(frozen=True)
class Rarified:
    """An example that was kept, with the word that was replaced."""

    example: Example
    """With the synonym."""
    original: Example
    place: Place
    """Of the word in the original."""
    synonym: str
    """In lower case."""


def rare_synonyms(
    synonyms: Mapping[str, Sequence[str]], counts: Mapping[str, int], fewest: int, rarer_than: int
) -> dict[str, tuple[str, ...]]:
    """Return for each frequent word its synonyms with `fewest` occurrences or more, and fewer than `rarer_than`.

    Words without any are left out.
    """
    rare = {
        word: tuple(each for each in others if fewest <= counts.get(each, 0) < rarer_than)
        for word, others in synonyms.items()
        if counts.get(word, 0) >= rarer_than
    }
    return {word: others for word, others in rare.items() if others}


def rarify(
    examples: Sequence[Example], classify: Classifier, synonyms: Mapping[str, Sequence[str]]
) -> tuple[Rarified, ...]:
    """Return the examples that the classifier has right, and wrong once a word with a rare synonym is masked.

    The first such word of an example is replaced by one of its synonyms, drawn by the example's number. The case of
    the first letter is kept; the label is the original's.
    """
    right = [
        (number, example)
        for number, (example, found) in enumerate(zip(examples, classify(examples), strict=True))
        if found == example.label
    ]
    places = [[*_places(example, synonyms)] for _, example in right]
    masked = [each.with_word(example, "") for (_, example), row in zip(right, places, strict=True) for each in row]
    labels = iter(classify(masked))
    kept = []
    for (number, example), row in zip(right, places, strict=True):
        found = zip(row, [*islice(labels, len(row))], strict=True)
        place = next((place for place, label in found if label != example.label), None)
        if place is not None:
            word = place.word_in(example)
            choices = synonyms[word.lower()]
            synonym = choices[int(stream(DRAWING_SEED, "rarification", number).integers(len(choices)))]
            shown = synonym.capitalize() if word[0].isupper() else synonym
            kept.append(Rarified(place.with_word(example, shown), example, place, synonym))
    return tuple(kept)


def _places(example: Example, synonyms: Mapping[str, Sequence[str]]) -> Iterator[Place]:
    for side in ("first", "second"):
        for match in WORD.finditer(getattr(example, side) or ""):
            if match.group().lower() in synonyms:
                yield Place(side, match.start(), match.end())
