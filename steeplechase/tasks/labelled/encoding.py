"""Encodes examples as arrays: [CLS] first [SEP] second [SEP], as in BERT (arXiv 1810.04805, figure 2)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from steeplechase.foundation.errors import CorruptionError, damage_refused
from steeplechase.tasks.labelled.task import Example, Form
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets

DETAILS_FILE = "examples.json"
MIN_TEXT_TOKENS = 1  # tokens of each text after truncation
NO_OFFSET = -1  # offset of tokens outside `second`
ONE_TEXT: frozenset[Form] = frozenset({"single", "tags"})
CLASSIFY_POSITION = 0  # target of an answer that was truncated: [CLS], as for "no answer" in SQuAD 2.0

IntegerArray = NDArray[np.int32]


@dataclass(frozen=True)
class EncodedExamples:
    """Encoded examples of one part of a task. All arrays are int32; loaded ones are memory-mapped and read-only.

    An example is one sequence; of a multiple choice, `endings` consecutive ones.
    """

    tokens: IntegerArray  # [sequence length]; [PAD] after the last [SEP]
    segments: IntegerArray  # [sequence length]; 1 on `second` and its [SEP], else 0
    lengths: IntegerArray  # [sequence]; number of tokens without padding
    labels: IntegerArray  # [example]; -1 without a label
    starts: IntegerArray  # [example]; first token of the answer; 0 if it was cut off; -1 in other forms than spans
    ends: IntegerArray  # [example]; last token of the answer, inclusive; otherwise as `starts`
    offsets: (
        IntegerArray  # [example length 2]; characters (start, end) in `second`, -1 elsewhere; length 0 without spans
    )
    seconds: tuple[str, ...]  # contexts of the answers; empty in other forms than spans
    answers: tuple[str, ...]  # reference answers; empty in other forms than spans
    truncated: int  # number of examples that were truncated
    answers_lost: int  # number of examples whose answer was truncated, in whole or in part
    values: tuple[float, ...] = ()  # [example]; targets of a regression task; empty in other tasks
    rows: tuple[str, ...] = ()  # [example]; identifier of each example in the task's file; empty without a file
    endings: int = 1  # sequences of an example

    def __len__(self) -> int:
        return len(self.tokens) // self.endings

    @property
    def longest(self) -> IntegerArray:
        """The number of tokens of the longest sequence of every example."""
        longest: IntegerArray = np.asarray(self.lengths).reshape(-1, self.endings).max(1)
        return longest

    def sequences_of(self, examples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of the sequences of examples, in the order of the examples."""
        return (examples[:, None] * self.endings + np.arange(self.endings)).reshape(-1)

    @property
    def truncated_share(self) -> float:
        """The share of truncated examples, from 0 to 1."""
        return self.truncated / max(len(self), 1)

    def answer_text(self, example: int, start: int, end: int) -> str:
        """Return the text from token `start` to token `end`, inclusive; "" if that is not a span of `second`."""
        span = self.offsets[example, start : end + 1]
        if len(span) == 0 or (span == NO_OFFSET).any():
            return ""
        return self.seconds[example][int(span[0, 0]) : int(span[-1, 1])]


def encode_examples(examples: Sequence[Example], form: Form, tokenizer: Tokenizer, length: int) -> EncodedExamples:
    """Return the examples encoded to `length` tokens.

    Truncation: of a pair, the longer text first; of a span, the context, and the question only if it does not fit
    alone. Raises ValueError if `length` is too small for one token of each text.
    """
    texts = 1 if form in ONE_TEXT else 2
    available = length - 1 - texts
    if available < texts * MIN_TEXT_TOKENS:
        raise ValueError(f"a length of {length} has no room for {texts} texts and their special tokens")
    firsts = tokenizer.encode([example.first for example in examples])
    seconds = tokenizer.encode_with_offsets([example.second or "" for example in examples])
    arrays = Arrays(len(examples), length, tokenizer, form)
    for index, (example, first, second) in enumerate(zip(examples, firsts, seconds, strict=True)):
        first_length, second_length = _truncated_lengths(len(first), len(second.tokens), available, form)
        arrays.truncated += first_length + second_length < len(first) + len(second.tokens)
        arrays.set_tokens(index, first[:first_length], None if texts == 1 else _truncated(second, second_length))
        arrays.set_target(index, example, second)
    return arrays.encoded(examples)


def answer_tokens(offsets: Sequence[tuple[int, int]] | IntegerArray, start: int, end: int) -> tuple[int, int] | None:
    """Return the first and the last token that share a character with a span, None if there is none."""
    if not len(offsets):
        return None
    begins, ends = np.asarray(offsets).T
    inside = np.flatnonzero((begins < end) & (ends > start))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


def _truncated(text: TokensWithOffsets, length: int) -> TokensWithOffsets:
    return TokensWithOffsets(text.tokens[:length], text.offsets[:length])


def _truncated_lengths(first: int, second: int, available: int, form: Form) -> tuple[int, int]:
    """Return the number of tokens of each text after truncation to `available` tokens in total."""
    if first + second <= available:
        return first, second
    if form in ONE_TEXT:
        return available, 0
    if form == "span":
        question = min(first, available - MIN_TEXT_TOKENS)
        return question, min(second, available - question)
    half = available // 2
    if first <= half:
        return first, available - first
    return (available - second, second) if second <= available - half else (half, available - half)


class Arrays:
    """Arrays of examples while they are filled, one row per sequence."""

    def __init__(self, count: int, length: int, tokenizer: Tokenizer, form: Form) -> None:
        self._tokenizer = tokenizer
        self._spans = form == "span"
        self.tokens = np.full((count, length), tokenizer.pad, dtype=np.int32)
        self.segments = np.zeros((count, length), dtype=np.int32)
        self.lengths = np.zeros(count, dtype=np.int32)
        self.labels, self.starts, self.ends = (np.full(count, -1, dtype=np.int32) for _ in range(3))
        self.offsets = np.full((count, length if self._spans else 0, 2), NO_OFFSET, dtype=np.int32)
        self.truncated = self.answers_lost = 0

    def set_tokens(self, index: int, first: list[int], second: TokensWithOffsets | None) -> None:
        """Fill a row with the tokens of its texts, their segments and, of spans, their offsets."""
        row = [self._tokenizer.classify, *first, self._tokenizer.separate]
        if second is not None:
            start, end = len(row), len(row) + len(second.tokens)
            row += [*second.tokens, self._tokenizer.separate]
            self.segments[index, start : end + 1] = 1
            if self._spans and second.tokens:
                self.offsets[index, start:end] = second.offsets
        self.tokens[index, : len(row)] = row
        self.lengths[index] = len(row)

    def set_target(self, index: int, example: Example, second: TokensWithOffsets) -> None:
        """Fill a row with the label, or with the answer's tokens, of which `second` has all: [CLS] if one is cut off.

        Characters of an answer that no token has, such as white space, are no part of them.
        """
        if example.label is not None:
            self.labels[index] = example.label
        if self._spans:
            assert example.answer is not None
            whole = answer_tokens(second.offsets, *example.answer)
            kept = answer_tokens(self.offsets[index], *example.answer)
            if whole is None or kept is None or self.offsets[index, kept[1], 1] < second.offsets[whole[1]][1]:
                kept = (CLASSIFY_POSITION, CLASSIFY_POSITION)
                self.answers_lost += 1
            self.starts[index], self.ends[index] = kept

    def encoded(self, examples: Sequence[Example]) -> EncodedExamples:
        """Return the filled arrays with what else the examples have."""
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
_OMITTED: Mapping[str, object] = {"values": (), "rows": (), "endings": 1}
"""Details that are not written where they have this value."""


def save_examples(encoded: EncodedExamples, folder: Path) -> None:
    """Write the arrays, each as a little-endian .npy file, and the other fields, as JSON, into an existing folder."""
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(encoded, name).astype("<i4"), allow_pickle=False)
    details = {name: getattr(encoded, name) for name in _DETAILS}
    details = {name: value for name, value in details.items() if name not in _OMITTED or value != _OMITTED[name]}
    (folder / DETAILS_FILE).write_text(
        json.dumps(details, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )


def load_examples(folder: Path) -> EncodedExamples:
    """Return saved examples with memory-mapped arrays; raises CorruptionError if a file is damaged or missing."""
    with damage_refused(folder.name):
        details = json.loads((folder / DETAILS_FILE).read_text(encoding="utf-8"))
        details = {name: tuple(value) if isinstance(value, list) else value for name, value in details.items()}
        return EncodedExamples(**{name: load_array(folder / f"{name}.npy") for name in _ARRAYS}, **details)


def load_array(path: Path) -> Any:
    """Return a saved int32 array, memory-mapped and read-only; raises CorruptionError if it is damaged or missing."""
    with damage_refused(path.parent.name):
        with path.open("rb") as file:
            npy_format.read_magic(file)
            shape, _, dtype = npy_format.read_array_header_1_0(file)
        # empty arrays cannot be memory-mapped
        array = np.zeros(shape, dtype) if 0 in shape else np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype.str != "<i4":
        raise CorruptionError(f"{path.parent.name}: {path.name} has dtype {dtype}, expected int32")
    return array
