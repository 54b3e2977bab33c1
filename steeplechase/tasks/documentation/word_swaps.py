"""Exchanges of two adjacent words of a sentence: bigram shift, Conneau et al. 2018, arXiv 1805.01070, section 2."""

import re
import zlib

_MOVABLE = re.compile(r"[a-z]+")


def with_neighbours_swapped(sentence: str) -> str | None:
    """Return a sentence with two adjacent words exchanged, chosen by a hash of it; None where none can be.

    Only different words in lower case are exchanged, never the first or the last: capitals and punctuation stay.
    """
    words = sentence.split(" ")
    movable = [bool(_MOVABLE.fullmatch(word)) for word in words]
    choices = [
        place
        for place in range(1, len(words) - 2)
        if movable[place] and movable[place + 1] and words[place] != words[place + 1]
    ]
    if not choices:
        return None
    left = choices[zlib.crc32(sentence.encode()) % len(choices)]
    return " ".join([*words[:left], words[left + 1], words[left], *words[left + 2 :]])
