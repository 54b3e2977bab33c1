"""Sentences of running prose in a docstring, without lists, fields and section headings."""

import re
import zlib

FEWEST_WORDS = 6
MOST_WORDS = 30

_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)'`\"][.!?])\s+(?=[A-Z])")
_NOT_PROSE = re.compile(
    r"^\s*(:\w+|\.\. |[-*+•] |\d+[.)] |@\w+)|[-=~^]{3,}|\s:\s|^[\w*, ]+:\s*$|\[\d+\]|https?:", re.MULTILINE
)
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|Eq|No|al)\.$")


def sentences(text: str) -> list[str]:
    """Return the complete sentences of the running prose, in order, each on one line with 6 to 30 words."""
    complete = []
    for paragraph in _PARAGRAPH.split(text):
        if _NOT_PROSE.search(paragraph):
            continue
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
            if _is_complete(sentence):
                complete.append(sentence)
    return complete


def _is_complete(sentence: str) -> bool:
    words = sentence.split(" ")
    letters = sum(character.isalpha() or character == " " for character in sentence)
    return (
        FEWEST_WORDS <= len(words) <= MOST_WORDS
        and sentence[0].isupper()
        and sentence[-1] in ".!?"
        and letters >= 0.85 * len(sentence)
        and not _ABBREVIATION.search(sentence)
    )


def first_paragraph(text: str) -> str:
    """Return the first paragraph on one line, empty if it is a list, a field or a heading."""
    paragraph = _PARAGRAPH.split(text, maxsplit=1)[0]
    return "" if _NOT_PROSE.search(paragraph) else " ".join(paragraph.split())


MOVABLE = re.compile(r"[a-z]+")
AGREEMENTS = (("is", "are"), ("has", "have"), ("was", "were"), ("does", "do"), ("this", "these"))
"""Words in the singular and the plural, whose exchange makes a sentence wrong."""


def with_neighbours_swapped(sentence: str) -> str | None:
    """Return a sentence with two adjacent words exchanged, chosen by a hash of it; None where none can be.

    Only different words in lower case are exchanged, never the first or the last: capitals and punctuation stay.
    """
    words = sentence.split(" ")
    movable = [bool(MOVABLE.fullmatch(word)) for word in words]
    choices = [
        place
        for place in range(1, len(words) - 2)
        if movable[place] and movable[place + 1] and words[place] != words[place + 1]
    ]
    if not choices:
        return None
    left = choices[zlib.crc32(sentence.encode()) % len(choices)]
    return " ".join([*words[:left], words[left + 1], words[left], *words[left + 2 :]])
