"""Rarified test sets: examples whose label depends on a word, which is replaced by a rare synonym.

Schick and Schütze 2020, BERTRAM, arXiv 1910.07181, section 4.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foundation.randomness import stream

WORD = re.compile(r"\w+")
Classifier = Callable[[Sequence[str]], Sequence[int]]
"""From texts to labels."""


@dataclass(frozen=True)
class Labelled:
    """A text and its label."""

    text: str
    label: int


@dataclass(frozen=True)
class Rarified:
    """An example that was kept, with the word that was replaced."""

    example: Labelled
    """With the synonym."""
    original: Labelled
    word: str
    synonym: str
    start: int
    """Position of the word in the original's text."""


def rare_synonyms(
    synonyms: Mapping[str, Sequence[str]], counts: Mapping[str, int], rarer_than: int
) -> dict[str, tuple[str, ...]]:
    """Return for each word its synonyms with fewer occurrences than `rarer_than`; words without any are left out."""
    rare = {
        word: tuple(each for each in others if counts.get(each, 0) < rarer_than and each != word)
        for word, others in synonyms.items()
        if counts.get(word, 0) >= rarer_than
    }
    return {word: others for word, others in rare.items() if others}


def rarify(
    examples: Sequence[Labelled],
    classify: Classifier,
    synonyms: Mapping[str, Sequence[str]],
    mask: str,
    seed: int,
) -> tuple[Rarified, ...]:
    """Return the examples that the classifier has right, and wrong once a word with a rare synonym is masked.

    The first such word of a text is replaced by one of its synonyms, drawn by the seed and the example's number. The
    case of the first letter is kept; the label is the original's.
    """
    labels = classify([example.text for example in examples])
    kept = []
    for number, (example, label) in enumerate(zip(examples, labels, strict=True)):
        if label != example.label:
            continue
        words = [match for match in WORD.finditer(example.text) if match.group().lower() in synonyms]
        masked = [_replaced(example.text, match, mask) for match in words]
        wrong = (
            match for match, found in zip(words, classify(masked) if masked else (), strict=True) if found != label
        )
        match = next(wrong, None)
        if match is not None:
            choices = sorted(synonyms[match.group().lower()])
            synonym = choices[int(stream(seed, "rarification", number).integers(len(choices)))]
            shown = synonym.capitalize() if match.group()[0].isupper() else synonym
            changed = Labelled(_replaced(example.text, match, shown), example.label)
            kept.append(Rarified(changed, example, match.group(), shown, match.start()))
    return tuple(kept)


def _replaced(text: str, match: re.Match[str], by: str) -> str:
    return f"{text[: match.start()]}{by}{text[match.end() :]}"
