"""SQuAD's questions as windows of their paragraphs, [CLS] question [SEP] piece [SEP], and how these are stored.

A paragraph that does not fit is split into overlapping pieces. Defaults of BERT (run_squad.py of its release) and
ELECTRA: 384 or 512 tokens per window, a stride of 128 tokens, at most 64 tokens of the question. The target of a
training window without the whole answer is [CLS], as for a question without an answer.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.errors import damage_refused
from steeplechase.tasks.labelled.encoding import (
    CLASSIFY_POSITION,
    Arrays,
    EncodedExamples,
    IntegerArray,
    answer_tokens,
    load_array,
    load_examples,
    save_examples,
)
from steeplechase.tasks.squad.questions import Answer, Question
from steeplechase.tasks.squad.spans import combined, window_spans
from steeplechase.tasks.tokenizer import Tokenizer, TokensWithOffsets

Bounds = tuple[int, int]
"""Start of a piece in its paragraph, and its length, in tokens."""
LONGEST_QUESTION_TOKENS = 64
WINDOW_STRIDE_TOKENS = 128
SPECIAL_TOKENS_PER_WINDOW = 3
LENGTH_WEIGHT = 0.01  # tie-break between windows with equal context: the longer one
QUESTIONS_FILE = "questions.json"
_ARRAYS = ("most_context", "questions")


@dataclass(frozen=True, kw_only=True)
class Windows(EncodedExamples):
    """Windows of questions, those of one question together and in order; an example is a window.

    `truncated` counts questions of more than 64 tokens, `answers_lost` answerable questions without a window that
    contains a whole answer. The target of a window without the answer is [CLS].
    """

    most_context: IntegerArray  # [window length], 1 if this window has the maximum context of the token
    questions: IntegerArray  # [window], index of its question


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
    whole = tokenizer.encode([question.text for question in questions])
    heads = [tokens[:LONGEST_QUESTION_TOKENS] for tokens in whole]
    pieces = [
        window_bounds(len(contexts[question.context].tokens), length - SPECIAL_TOKENS_PER_WINDOW - len(head), stride)
        for question, head in zip(questions, heads, strict=True)
    ]
    arrays = Arrays(sum(map(len, pieces)), length, tokenizer, "span")
    arrays.truncated = sum(len(tokens) > LONGEST_QUESTION_TOKENS for tokens in whole)
    arrays.starts[:] = arrays.ends[:] = CLASSIFY_POSITION
    most_context, row = np.zeros_like(arrays.segments), 0
    for question, head, bounds in zip(questions, heads, pieces, strict=True):
        context, begin = contexts[question.context], len(head) + 2  # behind [CLS], the question and [SEP]
        best, span, answered = (
            windows_with_most_context(bounds, len(context.tokens)),
            _located(question, context),
            False,
        )
        for window, (start, count) in enumerate(bounds):
            piece = slice(start, start + count)
            arrays.set_tokens(row, head, TokensWithOffsets(context.tokens[piece], context.offsets[piece]))
            most_context[row, begin : begin + count] = best[piece] == window
            if span is not None and start <= span[0] and span[1] < start + count:
                arrays.starts[row], arrays.ends[row] = begin + span[0] - start, begin + span[1] - start
                answered = True
            row += 1
        arrays.answers_lost += question.answerable and not answered
    owners = np.repeat(np.arange(len(questions), dtype=np.int32), [len(bounds) for bounds in pieces])
    return Windows(**vars(arrays.encoded([])), most_context=most_context, questions=owners)


def window_bounds(count: int, room: int, stride: int) -> list[Bounds]:
    """Return the pieces of a paragraph of `count` tokens; the last one ends with it, an empty one has one piece."""
    bounds, start = [], 0
    while start + room < count:
        bounds.append((start, room))
        start += min(stride, room)
    return [*bounds, (start, count - start)]


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


def _located(question: Question, context: TokensWithOffsets) -> tuple[int, int] | None:
    """Return the tokens of the first answer that is in the context, None without one."""
    for answer in question.answers:
        if answer.start is not None:
            return answer_tokens(context.offsets, answer.start, answer.start + len(answer.text))
    return None


@dataclass(frozen=True)
class Answers:
    """By question identifier: the best text, and the score of "no answer" minus its score."""

    texts: dict[str, str]
    null_odds: dict[str, float]


def save_questions(questions: Sequence[Question], windows: Windows, folder: Path) -> None:
    """Write questions and their windows into an existing folder."""
    save_examples(windows, folder)
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(windows, name).astype("<i4"), allow_pickle=False)
    contexts = {context: index for index, context in enumerate(dict.fromkeys(each.context for each in questions))}
    records = [
        {
            "id": each.identifier,
            "question": each.text,
            "context": contexts[each.context],
            "answers": [[answer.text, answer.start] for answer in each.answers],
            "article": each.article,
            "paragraph": each.paragraph,
        }
        for each in questions
    ]
    document = {"contexts": [*contexts], "questions": records}
    (folder / QUESTIONS_FILE).write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def load_question_windows(folder: Path) -> tuple[tuple[Question, ...], Windows]:
    """Return what was saved, arrays memory-mapped; raises CorruptionError if a file is damaged or missing."""
    rows = load_examples(folder)
    arrays = {name: load_array(folder / f"{name}.npy") for name in _ARRAYS}
    return load_questions(folder), Windows(**vars(rows), **arrays)


def load_questions(folder: Path) -> tuple[Question, ...]:
    """Return the questions alone; raises CorruptionError if their file is damaged or missing."""
    with damage_refused(f"{folder.name}/{QUESTIONS_FILE}"):
        document = json.loads((folder / QUESTIONS_FILE).read_text(encoding="utf-8"))
        contexts = document["contexts"]
        return tuple(
            Question(
                identifier=each["id"],
                text=each["question"],
                context=contexts[each["context"]],
                answers=tuple(Answer(text, start) for text, start in each["answers"]),
                article=each["article"],
                paragraph=each["paragraph"],
            )
            for each in document["questions"]
        )


def answers_of(questions: Sequence[Question], windows: Windows, logits: Iterable[NDArray[np.float32]]) -> Answers:
    """Return one text for each question from the boundary logits [seq 2] of every window, in order.

    Raises ValueError for logits that are not finite.
    """
    answers = Answers({}, {})
    rows = enumerate(zip(windows.questions, logits, strict=True))
    for index, own in groupby(rows, key=lambda row: int(row[1][0])):
        spans, nulls = [], []
        for row, (_, boundaries) in own:
            length = len(boundaries)
            offsets, best = windows.offsets[row, :length], windows.most_context[row, :length]
            spans.append(window_spans(boundaries, offsets, best))
            nulls.append(float(boundaries[0].sum()))
        question, best_spans = questions[index], combined(spans, nulls)
        answers.texts[question.identifier] = best_spans.text(question.context)
        answers.null_odds[question.identifier] = best_spans.null_odds
    return answers
