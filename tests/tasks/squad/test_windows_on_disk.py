"""Windows round trip on disk, perfect logits give perfect answers, and the held-out part is disjoint."""

from pathlib import Path

import numpy as np
import pytest

from steeplechase.foundation.errors import CorruptionError
from steeplechase.tasks.squad.official_metrics import chosen_threshold, squad_scores
from steeplechase.tasks.squad.prepare import held_out, taken
from steeplechase.tasks.squad.questions import Answer, Question
from steeplechase.tasks.squad.spans import with_threshold
from steeplechase.tasks.squad.windows import (
    Windows,
    answers_of,
    encode_windows,
    load_question_windows,
    save_questions,
)
from steeplechase.tasks.tokenizer import Tokenizer
from tests.factories.squad_files import official


def questions(count: int = 40) -> list[Question]:
    """Return questions on paragraphs of several windows; every third has no answer."""
    found = []
    for number in range(count):
        context = " ".join(f"Item {place} of list {number // 2}, café." for place in range(30))
        answers = () if number % 3 == 0 else (Answer(word := f"{number % 30} of list", context.index(word)),)
        found.append(Question(f"q{number}", "which item?", context, answers, "article", number // 2))
    return found


def knowing(windows: Windows) -> list[np.ndarray]:
    """Return the logits of a model that knows every answer, for each window as long as its tokens."""
    found = []
    for row in range(len(windows)):
        logits = np.zeros((int(windows.lengths[row]), 2), dtype=np.float32)
        logits[windows.starts[row], 0] += 5
        logits[windows.ends[row], 1] += 5
        found.append(logits)
    return found


def test_perfect_logits_score_a_hundred(tmp_path: Path, tokenizer: Tokenizer) -> None:
    asked = questions()
    windows = encode_windows(asked, tokenizer, 100, stride=20)
    assert len(windows) > 2 * len(asked)
    save_questions(asked, windows, tmp_path)
    loaded, rows = load_question_windows(tmp_path)
    assert loaded == tuple(asked)
    assert rows.tokens.tolist() == windows.tokens.tolist()
    found = answers_of(loaded, rows, knowing(windows))
    raw = {each.identifier: float(each.answerable) for each in asked}
    answerable = {each.identifier: each.answerable for each in asked}
    threshold = chosen_threshold(raw, answerable, found.texts, found.null_odds)
    final = with_threshold(found.texts, found.null_odds, threshold)
    scores = squad_scores(asked, "v2.0", final).metrics
    assert (scores["exact"], scores["f1"], scores["HasAns_exact"], scores["NoAns_exact"]) == (100, 100, 100, 100)
    assert all(each.context.count(final[each.identifier]) for each in asked)


def test_a_damaged_file_is_reported(tmp_path: Path, tokenizer: Tokenizer) -> None:
    asked = questions(2)
    save_questions(asked, encode_windows(asked, tokenizer, 100), tmp_path)
    (tmp_path / "questions.json").write_text("{}")
    with pytest.raises(CorruptionError, match=r"questions\.json"):
        load_question_windows(tmp_path)


def test_the_held_out_part_shares_no_paragraph_and_loses_no_question() -> None:
    file = official("v2.0", "train")
    learned, aside = held_out(file.questions)
    assert {each.context for each in learned}.isdisjoint(each.context for each in aside)
    assert sorted([*learned, *aside], key=lambda each: each.identifier) == sorted(
        file.questions, key=lambda each: each.identifier
    )
    assert 0.05 < len(aside) / len(file.questions) < 0.15
    assert any(not each.answerable for each in aside)


def test_the_subset_does_not_depend_on_the_order_of_questions() -> None:
    every = questions()
    some = taken(every, 10)
    assert len(some) == 10
    assert set(some) == set(taken(every[::-1], 10))
    assert set(some) < set(taken(every, 11))
    assert taken(every, None) == taken(every, 10**6) == tuple(every)
