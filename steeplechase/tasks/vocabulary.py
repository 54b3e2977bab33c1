"""Vocabularies as text: a piece per line (BERT's vocab.txt), merges (GPT-2's merges.txt), scores (SentencePiece).

WordPiece and BPE are read from a tokenizer.json too.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from steeplechase.foundation.atomic_files import read_bounded
from steeplechase.foundation.errors import DataError, first_lines
from steeplechase.tasks.data_folder import missing
from steeplechase.tasks.tokenizer_file import (
    TOKENIZER_FILE,
    Settings,
    has_model,
    is_tokenizer_file,
    merges_of,
    numbered_pieces,
    pieces_and_model,
)

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
OTHER_SPECIAL_TOKENS = (("<pad>",), ("<unk>",), ("<cls>", "<s>"), ("<sep>", "</s>"), ("<mask>",))
"""Their names in the vocabularies of RoBERTa and XLNet; XLNet has a `<s>` too, which is not its first token."""
VOCABULARY_FILE, NUMBERED_FILE, MERGES_FILE, SCORES_FILE = "vocab.txt", "vocab.json", "merges.txt", "unigram.vocab"
MERGES_HEADER = "#version: 0.2"
LARGEST_ALPHABET = 1000  # rarer characters become [UNK]
MOST_LINES_SHOWN = 5
LARGEST_VOCABULARY_BYTES = 2**27


def vocabulary_text(pieces: Sequence[str]) -> str:
    """Return vocab.txt."""
    return "".join(f"{piece}\n" for piece in pieces)


def read_vocabulary(path: Path, largest: int | None = None, settings: Settings | None = None) -> list[str]:
    """Return the pieces of a vocabulary file in order; `largest` is the maximum number of pieces.

    The file may be a tokenizer.json of WordPiece that has these `settings`; a folder has vocab.txt or this.

    Raises DataError, all mistakes at once: not a readable UTF-8 file, empty lines, spaces, duplicates (with
    both lines), missing special tokens, too many pieces.
    """
    if path.is_dir():
        path = next((path / name for name in (VOCABULARY_FILE, TOKENIZER_FILE) if (path / name).exists()), path)
    is_document = is_tokenizer_file(path)
    pieces = pieces_and_model(path, "WordPiece", settings or {})[0] if is_document else _lines(path)
    mistakes = _mistakes(str(path), pieces)
    missing_ones = [token for token in SPECIAL_TOKENS if token not in set(pieces)]
    if missing_ones:
        mistakes.append(f"{path}: no {', '.join(missing_ones)}; all of {', '.join(SPECIAL_TOKENS)} are needed")
    _refuse([*mistakes, *_too_many(path, pieces, largest)])
    return pieces


def special_pieces(pieces: Collection[str]) -> tuple[str, ...]:
    """Return the pieces for padding, the unknown, the first and the last token, and masks, by any of their names."""
    names = ((name, *others) for name, others in zip(SPECIAL_TOKENS, OTHER_SPECIAL_TOKENS, strict=True))
    return tuple(next(name for name in each if name in pieces) for each in names)


def without_special(path: Path | str, pieces: Collection[str]) -> Iterator[str]:
    """Yield a line if a special token is missing under every name."""
    absent = [
        f"{name} (or {', '.join(others)})"
        for name, others in zip(SPECIAL_TOKENS, OTHER_SPECIAL_TOKENS, strict=True)
        if not any(each in pieces for each in (name, *others))
    ]
    if absent:
        yield f"{path}: no {', '.join(absent)}; all of {', '.join(SPECIAL_TOKENS)} are needed"


def _too_many(path: Path, pieces: Sequence[str], largest: int | None) -> Iterator[str]:
    if largest is not None and len(pieces) > largest:
        yield f"{path}: {len(pieces)} pieces, but the architecture has a vocabulary_size of {largest}"


def _refuse(mistakes: Sequence[str]) -> None:
    if mistakes:
        raise DataError(mistakes)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file. Raises DataError if it is not a readable UTF-8 file."""
    return [line.removesuffix("\r") for line in _text(path).removesuffix("\n").split("\n")]


def _text(path: Path) -> str:
    try:
        return read_bounded(path, LARGEST_VOCABULARY_BYTES).decode("utf-8-sig")
    except FileNotFoundError as absent:
        raise missing(f"{path}: {absent.strerror}") from absent
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure
    except UnicodeDecodeError as wrong:
        raise DataError(f"{path}: byte offset {wrong.start} is not UTF-8") from wrong


def numbered_text(pieces: Sequence[str]) -> str:
    """Return vocab.json: every piece with its number."""
    return json.dumps({piece: number for number, piece in enumerate(pieces)}, ensure_ascii=False) + "\n"


def merges_text(merges: Sequence[tuple[str, str]]) -> str:
    """Return merges.txt: two pieces per line, the first merge first."""
    return "".join(f"{line}\n" for line in (MERGES_HEADER, *map(" ".join, merges)))


def scores_text(pieces: Sequence[str], scores: Sequence[float]) -> str:
    """Return SentencePiece's .vocab file: a piece, a tab and its log-probability per line."""
    return "".join(f"{piece}\t{score!r}\n" for piece, score in zip(pieces, scores, strict=True))


def read_merges(
    folder: Path, largest: int | None = None, settings: Settings | None = None
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the pieces and the merges of a folder with vocab.json and merges.txt, or of a tokenizer.json.

    A tokenizer.json has to have these `settings`; in a folder it is read where there is no vocab.json.

    Raises DataError, all mistakes of a file at once: numbers that are not 0 to the last, merges of pieces that are
    not in the vocabulary, duplicates, missing special tokens, too many pieces.
    """
    path, merges_path = folder / NUMBERED_FILE, folder / MERGES_FILE
    whole = folder if is_tokenizer_file(folder) else folder / TOKENIZER_FILE
    if is_tokenizer_file(whole) and (whole == folder or (has_model(whole) and not path.exists())):
        path = merges_path = whole
        pieces, model = pieces_and_model(whole, "BPE", settings or {})
        written = merges_of(whole, model.get("merges"))
    else:
        pieces, written = _pieces_of_vocab_json(path), _lines(merges_path)
    lines = list(enumerate(written, start=1))
    if lines and lines[0][1].startswith("#version"):
        lines = lines[1:]
    known = frozenset(pieces)
    mistakes = _shortened(merges_path, list(_merge_mistakes(merges_path, lines, known, path.name)))
    _refuse([*mistakes, *without_special(path, known), *_too_many(path, pieces, largest)])
    return pieces, [(left, right) for left, right in (line.split(" ") for _, line in lines if line)]


def _pieces_of_vocab_json(path: Path) -> list[str]:
    """Return the pieces of vocab.json by their numbers. Raises DataError unless each number is there once."""
    try:
        pairs = json.loads(_text(path), object_pairs_hook=list)
    except (ValueError, RecursionError) as wrong:
        raise DataError(f"{path}: is not JSON: {wrong}") from wrong
    return numbered_pieces(str(path), pairs)


def _merge_mistakes(
    path: Path, lines: list[tuple[int, str]], pieces: Collection[str], vocabulary: str
) -> Iterator[str]:
    first: dict[str, int] = {}
    for number, line in lines:
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            if line or number != lines[-1][0]:
                yield f"{path}:{number}: {line!r} is not a merge: two pieces with a space between them"
        elif unknown := [piece for piece in (*parts, "".join(parts)) if piece not in pieces]:
            yield f"{path}:{number}: {unknown[0]!r} is not in {vocabulary}"
        elif line in first:
            yield f"{path}:{number}: duplicate merge {line!r}, first on line {first[line]}"
        first.setdefault(line, number)


def read_scores(path: Path, largest: int | None = None) -> tuple[list[str], list[float]]:
    """Return the pieces and log-probabilities of SentencePiece's .vocab file. Raises DataError, all at once."""
    if path.is_dir() or is_tokenizer_file(path):
        raise DataError(
            f"{path}: expected SentencePiece's .vocab, with a piece, a tab and a log-probability per line; the "
            "unigram model of a checkpoint's folder is read by `steeplechase import`"
        )
    rows = [line.split("\t") for line in _lines(path)]
    pieces, scores, mistakes = [row[0] for row in rows], [], []
    for number, row in enumerate(rows, start=1):
        score = _number(row[1]) if len(row) == 2 else math.nan
        scores.append(score)
        if not math.isfinite(score):
            mistakes.append(f"{path}:{number}: {chr(9).join(row)!r} is not a piece, a tab and a log-probability")
    mistakes = [*_shortened(path, mistakes), *_mistakes(str(path), pieces)]
    _refuse([*mistakes, *without_special(path, pieces), *_too_many(path, pieces, largest)])
    return pieces, scores


def read_pieces(path: Path, largest: int | None = None) -> list[str]:
    """Return the pieces of a file with one per line, special ones by any of their names. Raises DataError."""
    pieces = _lines(path)
    _refuse([*_mistakes(str(path), pieces), *without_special(path, pieces), *_too_many(path, pieces, largest)])
    return pieces


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _shortened(path: Path | str, mistakes: list[str]) -> list[str]:
    return first_lines(mistakes, lambda more: f"{path}: … and {more} more such lines", MOST_LINES_SHOWN)


def _mistakes(name: str, pieces: list[str]) -> list[str]:
    first: dict[str, int] = {}
    mistakes = []
    for number, piece in enumerate(pieces, start=1):
        if not piece or piece.strip(" \t\x00") != piece:
            mistakes.append(f"{name}:{number}: {piece!r} is empty or has spaces around it")
        elif piece in first:
            mistakes.append(f"{name}:{number}: duplicate piece {piece!r}, first on line {first[piece]}")
        first.setdefault(piece, number)
    return _shortened(name, mistakes)


def alphabet_of(texts: Iterable[str], vocabulary_size: int) -> list[str]:
    """Return the most frequent characters of the texts in code point order, ties broken by code point.

    At most 1000, and never more than a quarter of the vocabulary: each takes two pieces, inside a word and at its
    start or end.
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
