"""A WordPiece vocabulary as text: one piece per line, numbered by line, as in BERT's vocab.txt."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from foundation.atomic_files import read_regular
from foundation.errors import DataError
from tasks.data_folder import missing

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LARGEST_ALPHABET = 1000  # rarer characters become [UNK]
MOST_LINES_SHOWN = 5


def vocabulary_text(pieces: Sequence[str]) -> str:
    """Return vocab.txt."""
    return "".join(f"{piece}\n" for piece in pieces)


def read_vocabulary(path: Path, largest: int | None = None) -> list[str]:
    """Return the pieces of a vocabulary file in order; `largest` is the maximum number of pieces.

    Raises DataError, all mistakes at once: not a readable UTF-8 file, empty lines, spaces, duplicates (with
    both lines), missing special tokens, too many pieces.
    """
    try:
        text = read_regular(path).decode("utf-8")
    except FileNotFoundError as absent:
        raise missing(f"{path}: {absent.strerror}") from absent
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure
    except UnicodeDecodeError as wrong:
        raise DataError(f"{path}: byte offset {wrong.start} is not UTF-8") from wrong
    pieces = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    mistakes = _mistakes(str(path), pieces)
    if largest is not None and len(pieces) > largest:
        mistakes.append(f"{path}: {len(pieces)} pieces, but the architecture has a vocabulary_size of {largest}")
    if mistakes:
        raise DataError(mistakes)
    return pieces


def _mistakes(name: str, pieces: list[str]) -> list[str]:
    first: dict[str, int] = {}
    mistakes = []
    for number, piece in enumerate(pieces, start=1):
        if not piece or piece.strip(" \t\x00") != piece:
            mistakes.append(f"{name}:{number}: {piece!r} is empty or has spaces around it")
        elif piece in first:
            mistakes.append(f"{name}:{number}: duplicate piece {piece!r}, first on line {first[piece]}")
        first.setdefault(piece, number)
    if len(mistakes) > MOST_LINES_SHOWN:
        mistakes[MOST_LINES_SHOWN:] = [f"{name}: … and {len(mistakes) - MOST_LINES_SHOWN} more such lines"]
    missing = [token for token in SPECIAL_TOKENS if token not in first]
    if missing:
        mistakes.append(f"{name}: no {', '.join(missing)}; all of {', '.join(SPECIAL_TOKENS)} are needed")
    return mistakes


def word_piece_alphabet(texts: Iterable[str], vocabulary_size: int) -> list[str]:
    """Return the most frequent characters of the texts in code point order, ties broken by code point.

    At most 1000, and never more than a quarter of the vocabulary: each takes two pieces, as itself and after "##".
    Raises DataError if the texts have no characters.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    ranked = sorted(
        (character for character in counts if not character.isspace()),
        key=lambda character: (-counts[character], character),
    )
    if not ranked:
        raise DataError("a tokenizer cannot be trained on no text: the corpus's train split is empty")
    return sorted(ranked[: min(LARGEST_ALPHABET, max(vocabulary_size // 4, 1))])
