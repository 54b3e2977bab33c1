"""Exact and near duplicates: shingles as in Broder 1997, sampled at anchor words so that one pass suffices.

A document is an exact duplicate if an earlier document has the same words in the same order, ignoring case, digits
and punctuation. It is a near duplicate if at least 80 % of its sampled six-word shingles occur in accepted documents.
A shingle is sampled if its first word is an anchor: about one word in four, chosen by a hash of the word. Documents
with fewer than eight sampled shingles are tested for exact duplicates only.
"""

import hashlib
import re
import zlib
from typing import Literal

SHINGLE_WORDS = 6
ANCHORS_ONE_IN = 4
SEEN_SHARE = 0.8
FEWEST_SHINGLES = 8

_WORD = re.compile(r"[^\W\d_]+")


class _Anchors(dict[str, bool]):
    def __missing__(self, word: str) -> bool:
        anchor = self[word] = zlib.crc32(word.encode()) % ANCHORS_ONE_IN == 0
        return anchor


class DuplicateFilter:
    """Index of the accepted documents; about 100 bytes per 30 words."""

    def __init__(self) -> None:
        self._texts: set[bytes] = set()
        self._shingles: set[int] = set()
        self._anchors = _Anchors()

    def classify(self, text: str) -> Literal["new", "exact", "near"]:
        """Return `new`, `exact` or `near`; a new text is added to the index."""
        words = _WORD.findall(text.lower())
        digest = hashlib.blake2b(" ".join(words).encode(), digest_size=12).digest()
        if digest in self._texts:
            return "exact"
        self._texts.add(digest)
        anchors = self._anchors
        shingles = {
            zlib.crc32(" ".join(words[start : start + SHINGLE_WORDS]).encode())
            for start in range(len(words) - SHINGLE_WORDS + 1)
            if anchors[words[start]]
        }
        if len(shingles) >= FEWEST_SHINGLES and len(shingles & self._shingles) >= SEEN_SHARE * len(shingles):
            return "near"
        self._shingles |= shingles
        return "new"
