"""Text of nothing in common: no document is dropped as a duplicate, and a corpus takes no time."""

import random
from pathlib import Path


def write_random_text(folder: Path, documents: int, words: int = 100) -> Path:
    """Write a file for each document of hexadecimal words, the same in every run, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = random.Random(5)
    for number in range(documents):
        (folder / f"{number}.txt").write_text(" ".join(f"{drawn.getrandbits(40):x}" for _ in range(words)))
    return folder
