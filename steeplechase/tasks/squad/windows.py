"""Questions as windows of their paragraphs: [CLS] question [SEP] piece [SEP]. BERT's release, run_squad.py.

A paragraph that does not fit is split into overlapping pieces. Defaults of BERT and ELECTRA: 384 or 512 tokens per
window, a stride of 128 tokens, at most 64 tokens of the question. The target of a training window without the whole
answer is [CLS], as for a question without an answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.squad.questions import Question
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets

IntegerArray = NDArray[np.int32]
Bounds = tuple[int, int]
"""Start of a piece in its paragraph, and its length, in tokens."""

LONGEST_QUESTION_TOKENS = 64
WINDOW_STRIDE_TOKENS = 128
SPECIAL_TOKENS_PER_WINDOW = 3
NO_OFFSET = -1  # offset of tokens outside the paragraph
CLASSIFY_POSITION = 0  # target of "no answer in this window"
LENGTH_WEIGHT = 0.01  # tie-break between windows with equal context: the longer one


@dataclass(frozen=True)
class Windows:
    """Windows of questions, those of one question together and in order. All arrays are int32."""

    tokens: IntegerArray  # [window length], [PAD] after the last [SEP]
    segments: IntegerArray  # [window length], 1 on the paragraph's piece and its [SEP], else 0
    lengths: IntegerArray  # [window], tokens that are not padding
    starts: IntegerArray  # [window], first token of the answer; 0 if this window has none
    ends: IntegerArray  # [window], last token of the answer, inclusive; as `starts`
    offsets: IntegerArray  # [window length 2], characters (start, end) in the context; -1 elsewhere
    most_context: IntegerArray  # [window length], 1 if this window has the maximum context of the token
    questions: IntegerArray  # [window], index of its question
    questions_cut: int  # questions of more than 64 tokens
    answers_lost: int  # answerable questions without a window that contains a whole answer

    def __len__(self) -> int:
        return len(self.tokens)


def encode_windows(
    questions: Sequence[Question], tokenizer: Tokenizer, length: int, stride: int = WINDOW_STRIDE_TOKENS
) -> Windows:
    """Return every window of the questions, at least one for each, `length` tokens wide.

    If a window has less room than the stride, the stride is its room, so that no token is skipped.
    Raises ValueError if a question of 64 tokens leaves no room for a token of its paragraph.
    """
    if length <= LONGEST_QUESTION_TOKENS + SPECIAL_TOKENS_PER_WINDOW:
        least = LONGEST_QUESTION_TOKENS + SPECIAL_TOKENS_PER_WINDOW + 1
        raise ValueError(f"windows of {length} tokens have no room for a question and a paragraph; at least {least}")
    texts = list(dict.fromkeys(question.context for question in questions))
    contexts = dict(zip(texts, tokenizer.encode_with_offsets(texts), strict=True))
    question_tokens = tokenizer.encode([question.text for question in questions])
    pieces = [
        window_bounds(len(contexts[question.context].tokens), _room(length, tokens), stride)
        for question, tokens in zip(questions, question_tokens, strict=True)
    ]
    rows = _Rows(sum(map(len, pieces)), length, tokenizer)
    for number, (question, tokens, bounds) in enumerate(zip(questions, question_tokens, pieces, strict=True)):
        rows.questions_cut += len(tokens) > LONGEST_QUESTION_TOKENS
        rows.fill(number, tokens[:LONGEST_QUESTION_TOKENS], contexts[question.context], bounds)
        rows.answer(question, contexts[question.context], len(bounds))
    return rows.windows()


def window_bounds(count: int, room: int, stride: int) -> list[Bounds]:
    """Return the pieces of a paragraph of `count` tokens; the last one ends with it, an empty one has one piece."""
    return list(_bounds(count, room, min(stride, room)))


def _bounds(count: int, room: int, stride: int) -> Iterator[Bounds]:
    start = 0
    while start + room < count:
        yield start, room
        start += stride
    yield start, count - start


def windows_with_most_context(bounds: Sequence[Bounds], count: int) -> NDArray[np.int64]:
    """Return for each token of a paragraph the window with its maximum context, the first of equal ones.

    Context is the minimum over the two sides, plus a hundredth of the window's length (run_squad.py).
    """
    token = np.arange(count)
    context = np.full((len(bounds), count), -np.inf)
    for row, (start, length) in enumerate(bounds):
        inside = slice(start, start + length)
        around = np.minimum(token[inside] - start, start + length - 1 - token[inside])
        context[row, inside] = around + LENGTH_WEIGHT * length
    best: NDArray[np.int64] = context.argmax(0)
    return best


def answer_tokens(text: TokensWithOffsets, start: int, end: int) -> tuple[int, int] | None:
    """Return the first and the last token that share a character with a span, None if there is none."""
    if not text.tokens:
        return None
    begins, ends = np.asarray(text.offsets).T
    inside = np.flatnonzero((begins < end) & (ends > start))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


def _room(length: int, question: Sequence[int]) -> int:
    return length - SPECIAL_TOKENS_PER_WINDOW - min(len(question), LONGEST_QUESTION_TOKENS)


class _Rows:
    """Arrays being filled, one window to a row."""

    def __init__(self, count: int, length: int, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._next = 0
        self._bounds: list[tuple[int, Bounds]] = []  # by row: position of its piece in the window, and the piece
        self.tokens = np.full((count, length), tokenizer.pad, dtype=np.int32)
        self.segments, self.most_context = (np.zeros((count, length), dtype=np.int32) for _ in range(2))
        self.lengths, self.questions = (np.zeros(count, dtype=np.int32) for _ in range(2))
        self.starts, self.ends = (np.full(count, CLASSIFY_POSITION, dtype=np.int32) for _ in range(2))
        self.offsets = np.full((count, length, 2), NO_OFFSET, dtype=np.int32)
        self.questions_cut = self.answers_lost = 0

    def fill(self, number: int, question: list[int], context: TokensWithOffsets, bounds: Sequence[Bounds]) -> None:
        head = [self._tokenizer.classify, *question, self._tokenizer.separate]
        best = windows_with_most_context(bounds, len(context.tokens))
        for window, (start, count) in enumerate(bounds):
            row, begin, end = self._next, len(head), len(head) + count
            self.tokens[row, :begin] = head
            self.tokens[row, begin:end] = context.tokens[start : start + count]
            self.tokens[row, end] = self._tokenizer.separate
            self.segments[row, begin : end + 1] = 1
            if count:
                self.offsets[row, begin:end] = context.offsets[start : start + count]
            self.most_context[row, begin:end] = best[start : start + count] == window
            self.lengths[row], self.questions[row] = end + 1, number
            self._bounds.append((begin, (start, count)))
            self._next += 1

    def answer(self, question: Question, context: TokensWithOffsets, windows: int) -> None:
        """Set the targets of the question's windows, the last ones filled, to its first answer in the context."""
        located = next((each for each in question.answers if each.start is not None), None)
        span = None
        if located is not None and located.start is not None:
            span = answer_tokens(context, located.start, located.start + len(located.text))
        windows_with_answer = 0
        for row in range(self._next - windows, self._next):
            begin, (start, count) = self._bounds[row]
            if span is not None and start <= span[0] and span[1] < start + count:
                self.starts[row], self.ends[row] = begin + span[0] - start, begin + span[1] - start
                windows_with_answer += 1
        self.answers_lost += question.answerable and not windows_with_answer

    def windows(self) -> Windows:
        return Windows(
            tokens=self.tokens,
            segments=self.segments,
            lengths=self.lengths,
            starts=self.starts,
            ends=self.ends,
            offsets=self.offsets,
            most_context=self.most_context,
            questions=self.questions,
            questions_cut=int(self.questions_cut),
            answers_lost=int(self.answers_lost),
        )
