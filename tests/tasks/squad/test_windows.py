"""Windows cover every token of every paragraph, have offsets into the text, and combine into one answer."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.tasks.labelled.encoding import answer_tokens
from steeplechase.tasks.squad.questions import Answer, Question
from steeplechase.tasks.squad.spans import Span, combined, window_spans, with_threshold
from steeplechase.tasks.squad.windows import (
    Windows,
    encode_windows,
    window_bounds,
    windows_with_most_context,
)
from steeplechase.tasks.tokenizer import GivenVocabulary, Tokenizer, train_tokenizer
from tests.factories.published_data import published
from tests.factories.squad_files import official

ODD = "A  café, cafe\u0301 and 1990s\u200b—two  spaces; the\u00a0end. İt"


def asked(context: str, *answers: str, text: str = "where is it") -> Question:
    placed = tuple(Answer(answer, context.index(answer)) for answer in answers)
    return Question("id", text, context, placed, "article", 0)


@given(st.integers(0, 300), st.integers(1, 80), st.integers(1, 100))
def test_pieces_cover_a_paragraph_and_overlap_by_the_stride(count: int, room: int, stride: int) -> None:
    bounds = window_bounds(count, room, stride)
    assert {token for start, length in bounds for token in range(start, start + length)} == set(range(count))
    assert all(length == room for _, length in bounds[:-1])
    assert sum(bounds[-1]) == count
    assert [start for start, _ in bounds] == [min(stride, room) * place for place in range(len(bounds))]
    assert all(start + length < count for start, length in bounds[:-1])  # none too many


@given(st.integers(1, 200), st.integers(4, 60), st.integers(1, 60))
def test_each_token_has_its_maximum_context_in_one_window(count: int, room: int, stride: int) -> None:
    bounds = window_bounds(count, room, stride)
    best = windows_with_most_context(bounds, count)
    for token in range(count):
        shown = [
            min(token - start, start + length - 1 - token) + 0.01 * length if start <= token < start + length else -1
            for start, length in bounds
        ]
        assert best[token] == shown.index(max(shown))


@pytest.mark.parametrize("length", [69, 80, 128])
def test_windows_have_question_and_piece_and_decode_to_the_text(length: int, tokenizer: Tokenizer) -> None:
    context = " ".join(f"{ODD} number {number}" for number in range(12))
    questions = [asked(context, "number 7"), asked("two  spaces", "spaces"), asked(ODD, text="why " * 100)]
    windows = encode_windows(questions, tokenizer, length, stride=20)
    assert windows.truncated == 1
    assert windows.answers_lost == 0
    for row in range(len(windows)):
        end = int(windows.lengths[row])
        inside = np.flatnonzero(windows.offsets[row, :, 0] >= 0)
        assert windows.tokens[row, 0] == tokenizer.classify
        assert windows.tokens[row, end - 1] == windows.tokens[row, inside[0] - 1] == tokenizer.separate
        assert (windows.tokens[row, end:] == tokenizer.pad).all()
        assert windows.segments[row].nonzero()[0].tolist() == [*inside, end - 1]
        assert inside[0] <= 2 + 64
    for place, question in enumerate(questions):
        rows = np.flatnonzero(windows.questions == place)
        whole = tokenizer.encode_with_offsets([question.context])[0]
        best = sorted(
            tuple(windows.offsets[row, token]) for row in rows for token in windows.most_context[row].nonzero()[0]
        )
        assert best == sorted(whole.offsets)  # every token is best seen exactly once
    assert texts_pointed_at(windows, questions)[:1] == ["number 7"]


def texts_pointed_at(windows: Windows, questions: list[Question]) -> list[str]:
    """Return the text between start and end of every window that has an answer."""
    found = []
    for row in np.flatnonzero(windows.starts):
        start, end = windows.offsets[row, windows.starts[row], 0], windows.offsets[row, windows.ends[row], 1]
        found.append(questions[windows.questions[row]].context[start:end])
    return found


def test_an_answer_across_every_border_is_lost_and_counted(tokenizer: Tokenizer) -> None:
    context = " ".join(f"x{number}" for number in range(100))
    windows = encode_windows([asked(context, context[:-3])], tokenizer, 80)
    assert windows.answers_lost == 1
    assert not windows.starts.any()
    assert not windows.ends.any()


def test_a_window_needs_room_for_the_longest_question(tokenizer: Tokenizer) -> None:
    encode_windows([asked("here it is", "here", text="why " * 100)], tokenizer, 68)
    with pytest.raises(ValueError, match=r"windows of 67 tokens have no room .* at least 68"):
        encode_windows([asked("here it is", "here")], tokenizer, 67)


@given(st.text(alphabet="ab .,é1\u0301\u200b\u00a0ÅİẞΣ中😀-", min_size=1, max_size=40), st.data())
def test_an_answer_is_inside_its_tokens_for_any_characters(
    tokenizer: Tokenizer, text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    encoded = tokenizer.encode_with_offsets([text])[0]
    found = answer_tokens(encoded.offsets, start, end)
    if found is None:
        assert not any(begin < end and stop > start for begin, stop in encoded.offsets)
        return
    covered = text[encoded.offsets[found[0]][0] : encoded.offsets[found[1]][1]]
    seen = [
        character for character in text[start:end] if character.isalnum() and unicodedata.combining(character) == 0
    ]
    assert all(character in covered for character in seen)


def test_the_number_of_windows_is_that_of_berts_release() -> None:
    vocabulary = GivenVocabulary(path=str(published("vocab/bert-base-uncased/vocab.txt")))
    words = train_tokenizer(vocabulary, [], 30522)
    file = official("v2.0")
    windows = encode_windows(file.questions, words, 384)
    assert len(windows) == 12232  # what run_squad.py logs at 384 tokens, stride 128; no copy of that log is at hand
    assert (windows.truncated, windows.answers_lost) == (0, 0)
    assert len(set(windows.questions.tolist())) == len(file.questions)


def plain_spans(logits: np.ndarray, offsets: np.ndarray, best: np.ndarray) -> list[tuple[float, int, int]]:
    """Return every possible span, by three loops."""
    length = len(logits)
    return [
        (float(logits[start, 0] + logits[end, 1]), int(offsets[start, 0]), int(offsets[end, 1]))
        for start in range(length)
        for end in range(start, min(start + 30, length))
        if offsets[start, 0] >= 0 and offsets[end, 0] >= 0 and best[start] == 1
    ]


@given(st.integers(0, 2**32 - 1), st.integers(1, 50), st.integers(0, 5), st.integers(0, 5))
def test_the_best_spans_are_those_of_an_exhaustive_search(seed: int, inside: int, before: int, after: int) -> None:
    random = np.random.default_rng(seed)
    length = before + inside + after
    logits = random.normal(size=(length, 2)).astype(np.float32)
    offsets = np.full((length, 2), -1)
    offsets[before : before + inside] = [(4 * place, 4 * place + 3) for place in range(inside)]
    best = (random.random(length) < 0.7).astype(np.int32)
    expected = sorted(plain_spans(logits, offsets, best), reverse=True)[:20]
    assert [(span.score, span.start, span.end) for span in window_spans(logits, offsets, best)] == expected


def test_windows_of_a_question_combine_into_its_best_text() -> None:
    first = [Span(3.0, 0, 4), Span(1.0, 5, 8)]
    second = [Span(5.0, 5, 8), Span(3.0, 0, 2)]
    found = combined([first, second], [2.0, 4.5])
    assert found.spans == (Span(5.0, 5, 8), Span(3.0, 0, 2), Span(3.0, 0, 4))
    assert (found.text("the cat sat"), found.null_odds) == ("at ", -3.0)
    nothing = combined([[], []], [1.0, 0.0])
    assert (nothing.text("cat"), nothing.null_odds) == ("", 0.0)
    assert with_threshold({"a": "cat", "b": "dog"}, {"a": 0.5, "b": 0.6}, 0.5) == {"a": "cat", "b": ""}


def test_non_finite_logits_raise() -> None:
    with pytest.raises(ValueError, match="not finite"):
        window_spans(np.array([[0.0, np.nan]], dtype=np.float32), np.zeros((1, 2)), np.ones(1))
