"""The rules that answer extractive questions, and their scores on what a model sees."""

import pytest

from steeplechase.tasks.labelled.encoding import encode_examples
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.references import RULES
from steeplechase.tasks.references.extractive import Asked, answers_by_rule, extractive_scores, visible
from steeplechase.tasks.tokenizer import WordPieceTraining, train_tokenizer

CONTEXT = "The club of Turin won. In 1899 Ada Byron bought the small house near Lake Como for love."
ENTRIES = "alpha : float\n    The rate.\nbeta : int\n    How many rows are read."


@pytest.mark.parametrize(
    ("question", "context", "rule", "answer"),
    [
        ("Who bought the house?", CONTEXT, "whole_text", CONTEXT),
        ("Who bought the house?", CONTEXT, "best_sentence", CONTEXT[23:]),
        ("Who bought the house?", CONTEXT, "behind_question", "near Lake Como for love."),
        ("Who bought the house?", CONTEXT, "first_name", "Turin"),
        ("Who bought the house?", CONTEXT, "nearest_name", "Ada Byron"),
        ("When did Ada Byron buy it?", CONTEXT, "nearest_name", "1899"),  # names of the question are no answer
        ("beta", ENTRIES, "best_sentence", "beta : int"),
        ("beta", ENTRIES, "behind_question", ": int\n    How many rows are read."),
        ("Why?", "no such thing", "nearest_name", ""),
    ],
)
def test_rules_answer_as_they_say(question: str, context: str, rule: str, answer: str) -> None:
    """Each rule gives the piece of the context that it is named for."""
    assert answers_by_rule(Asked(question, context))[rule] == answer


def test_every_rule_is_scored_and_no_answer_only_where_a_question_has_none() -> None:
    """The rules are those that the ledger knows."""
    asked = [Asked("Who?", CONTEXT), Asked("Why?", "")]
    found = extractive_scores(asked, lambda texts: {"f1": float(len(texts))}, unanswerable=True)
    assert found.keys() == RULES.keys()
    assert "no_answer" not in extractive_scores(asked, lambda texts: {"f1": 0.0})


def test_a_rule_sees_what_truncation_left() -> None:
    """The context of a reference ends with the last token that a model has of it."""
    example = Example("small", "the small house near the lake", answer=(4, 9))
    tokenizer = train_tokenizer(WordPieceTraining(), [f"{example.second}\n"] * 20, 60)
    for length in (8, 64):
        encoded = encode_examples([example], "span", tokenizer, length)
        (seen,) = visible([example], encoded)
        assert seen.context == example.second[: int(encoded.offsets[0, :, 1].max())]
        assert (seen.context == example.second) == (length == 64)
