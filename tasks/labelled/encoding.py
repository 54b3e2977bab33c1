"""Examples as arrays: [CLS] first [SEP] second [SEP], as in BERT (arXiv 1810.04805, figure 2)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from foundation.errors import CorruptionError
from tasks.labelled.task import Example, Form
from tasks.tokenizer import TokensWithOffsets, WordPiece

DETAILS_FILE = "examples.json"
SHORTEST_SIDE = 1  # minimum tokens of each text after truncation
NO_OFFSET = -1  # offset of tokens outside `second`
CLASSIFY_POSITION = 0  # position of a truncated answer: [CLS], as for "no answer" in SQuAD 2.0

IntegerArray = NDArray[np.int32]


@dataclass(frozen=True)
class EncodedExamples:
    """Examples of one task at one length. All arrays are int32 and may be memory-mapped, read-only."""

    tokens: IntegerArray  # [example length], [PAD] after the last [SEP]
    segments: IntegerArray  # [example length], 1 on `second` and its [SEP], else 0
    lengths: IntegerArray  # [example], tokens that are not padding
    labels: IntegerArray  # [example], -1 for spans
    starts: IntegerArray  # [example], first token of the answer; 0 where lost; -1 where there is no span form
    ends: IntegerArray  # [example], last token of the answer, inclusive; as `starts`
    offsets: (
        IntegerArray  # [example length 2], characters (start, end) in `second`; -1 elsewhere; length 0 without spans
    )
    seconds: tuple[str, ...]  # the contexts of the answers; empty without the span form
    answers: tuple[str, ...]  # the reference answers; empty without the span form
    truncated: int  # examples that did not fit
    answers_lost: int  # examples whose answer was cut off, in whole or in part
    values: tuple[float, ...] = ()  # targets of a regression task
    rows: tuple[str, ...] = ()  # identifier of each example in the task's file; empty without a file

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def truncated_share(self) -> float:
        """Return the share of examples that lost tokens."""
        return self.truncated / max(len(self), 1)

    def answer_text(self, example: int, start: int, end: int) -> str:
        """Return the text from token `start` to token `end`, inclusive; empty if that is not a span of `second`."""
        span = self.offsets[example, start : end + 1]
        if len(span) == 0 or (span == NO_OFFSET).any():
            return ""
        return self.seconds[example][int(span[0, 0]) : int(span[-1, 1])]


def encode_examples(examples: Sequence[Example], form: Form, tokenizer: WordPiece, length: int) -> EncodedExamples:
    """Return the examples encoded to `length` tokens; the longer text of a pair is truncated first, a question never.

    Raises ValueError if `length` has no room for one token of each text.
    """
    sides = 1 if form == "single" else 2
    room = length - 1 - sides
    if room < sides * SHORTEST_SIDE:
        raise ValueError(f"a length of {length} has no room for {sides} texts and their special tokens")
    firsts = tokenizer.encode([example.first for example in examples])
    seconds = tokenizer.encode_with_offsets([example.second or "" for example in examples])
    rows = _Rows(len(examples), length, tokenizer, form)
    for index, (example, first, second) in enumerate(zip(examples, firsts, seconds, strict=True)):
        first_length, second_length = _fitted(len(first), len(second.tokens), room, form)
        rows.truncated += first_length + second_length < len(first) + len(second.tokens)
        rows.fill(index, first[:first_length], None if sides == 1 else _cut(second, second_length))
        rows.answer(index, example)
    return rows.encoded(examples)


def _cut(text: TokensWithOffsets, length: int) -> TokensWithOffsets:
    return TokensWithOffsets(text.tokens[:length], text.offsets[:length])


def _fitted(first: int, second: int, room: int, form: Form) -> tuple[int, int]:
    """Return the number of tokens of each text after truncation."""
    if first + second <= room:
        return first, second
    if form == "single":
        return room, 0
    if form == "span":
        kept = min(first, room - SHORTEST_SIDE)
        return kept, min(second, room - kept)
    half = room // 2
    if first <= half:
        return first, room - first
    return (room - second, second) if second <= room - half else (half, room - half)


class _Rows:
    """Arrays being filled, one example to a row."""

    def __init__(self, count: int, length: int, tokenizer: WordPiece, form: Form) -> None:
        self._tokenizer = tokenizer
        self._spans = form == "span"
        self.tokens = np.full((count, length), tokenizer.pad, dtype=np.int32)
        self.segments = np.zeros((count, length), dtype=np.int32)
        self.lengths = np.zeros(count, dtype=np.int32)
        self.labels, self.starts, self.ends = (np.full(count, -1, dtype=np.int32) for _ in range(3))
        self.offsets = np.full((count, length if self._spans else 0, 2), NO_OFFSET, dtype=np.int32)
        self.truncated = self.answers_lost = 0

    def fill(self, index: int, first: list[int], second: TokensWithOffsets | None) -> None:
        row = [self._tokenizer.classify, *first, self._tokenizer.separate]
        if second is not None:
            begin, end = len(row), len(row) + len(second.tokens)
            row += [*second.tokens, self._tokenizer.separate]
            self.segments[index, begin : end + 1] = 1
            if self._spans and second.tokens:
                self.offsets[index, begin:end] = second.offsets
        self.tokens[index, : len(row)] = row
        self.lengths[index] = len(row)

    def answer(self, index: int, example: Example) -> None:
        if example.label is not None:
            self.labels[index] = example.label
        if self._spans:
            assert example.answer is not None
            start, end = example.answer
            begins, ends = self.offsets[index].T
            inside = np.flatnonzero((begins < end) & (ends > start))
            whole = len(inside) > 0 and ends[inside[-1]] >= end
            self.answers_lost += not whole
            self.starts[index], self.ends[index] = (inside[0], inside[-1]) if whole else (CLASSIFY_POSITION,) * 2

    def encoded(self, examples: Sequence[Example]) -> EncodedExamples:
        return EncodedExamples(
            tokens=self.tokens,
            segments=self.segments,
            lengths=self.lengths,
            labels=self.labels,
            starts=self.starts,
            ends=self.ends,
            offsets=self.offsets,
            seconds=tuple(str(example.second) for example in examples) if self._spans else (),
            answers=tuple(example.answer_text for example in examples) if self._spans else (),
            truncated=int(self.truncated),
            answers_lost=int(self.answers_lost),
            values=tuple(example.value for example in examples if example.value is not None),
            rows=tuple(example.row for example in examples if example.row),
        )


_ARRAYS = tuple(field.name for field in fields(EncodedExamples))[:7]
_DETAILS = tuple(field.name for field in fields(EncodedExamples))[7:]
_OFTEN_EMPTY = {"values", "rows"}


def save_examples(encoded: EncodedExamples, folder: Path) -> None:
    """Write one little-endian .npy file for each array and examples.json for the rest into an existing folder."""
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(encoded, name).astype("<i4"), allow_pickle=False)
    details = {name: getattr(encoded, name) for name in _DETAILS}
    details = {name: value for name, value in details.items() if name not in _OFTEN_EMPTY or value}
    (folder / DETAILS_FILE).write_text(
        json.dumps(details, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )


def load_examples(folder: Path) -> EncodedExamples:
    """Return saved examples with memory-mapped arrays; raises CorruptionError where a file is damaged or missing."""
    try:
        details = json.loads((folder / DETAILS_FILE).read_text(encoding="utf-8"))
        for name in ("seconds", "answers"):
            details[name] = tuple(details[name])
        for name in _OFTEN_EMPTY & details.keys():
            details[name] = tuple(details[name])
        return EncodedExamples(**{name: load_array(folder / f"{name}.npy") for name in _ARRAYS}, **details)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as damage:
        raise CorruptionError(f"{folder.name}: {damage!r}") from damage


def load_array(path: Path) -> Any:
    """Return a saved int32 array, memory-mapped and read-only; raises OSError, EOFError or ValueError."""
    with path.open("rb") as file:
        npy_format.read_magic(file)
        shape, _, dtype = npy_format.read_array_header_1_0(file)
    if dtype.str != "<i4":
        raise ValueError(f"{path.name} holds {dtype}, expected int32")
    if 0 in shape:  # empty arrays cannot be memory-mapped
        return np.zeros(shape, dtype)
    return np.load(path, mmap_mode="r", allow_pickle=False)
