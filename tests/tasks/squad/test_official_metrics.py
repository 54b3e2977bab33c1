"""SQuAD's official scores: published scores of published predictions, and an independent implementation."""

import json
import random
import string
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.downstream.squad import read_null_odds, read_predictions
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.metrics import exact_match, normal_answer, overlap_f1
from steeplechase.tasks.squad.official_metrics import after_threshold, chosen_threshold, squad_scores
from steeplechase.tasks.squad.questions import Answer, Question
from tests.factories.published_data import published
from tests.factories.squad_files import official, write

SYSTEMS: list[tuple[Version, str]] = [
    ("v1.1", "bert_ensemble_google"),
    ("v2.0", "bert_single_google"),
]
WORDS = ("the", "a", "An", "cat", "Cat!", "thé", "«the»", "co-op", "U.S.", "1,000", "a.", "\u00a0", "theatre", "—")
EDGES = ("", " ", "the", "A the an", "...", "“the”", "a\u0301", "İstanbul", "the\u200bcat", "_the_", "th.e", "x\n\ty")


@pytest.mark.parametrize(("version", "system"), SYSTEMS)
def test_published_predictions_have_their_published_scores(version: Version, system: str) -> None:
    folder = published("squad")
    predictions = read_predictions(folder / "predictions" / version / f"{system}.json")
    expected = json.loads((folder / "predictions/expected_scores.json").read_text())[f"{version}/{system}.json"]
    scores = squad_scores(official(version).questions, version, predictions)
    for metric in expected.keys() & scores.metrics.keys():
        assert scores.metrics[metric] == pytest.approx(expected[metric], abs=1e-9), metric
    assert len(expected.keys() & scores.metrics.keys()) >= 2
    assert (scores.missing, scores.extra) == ((), 0)


def test_two_hundred_cases_agree_with_an_independent_implementation() -> None:
    chance = random.Random(7)
    drawn = [" ".join(chance.choices(WORDS, k=chance.randint(0, 6))) for _ in range(400)]
    pairs = [*zip(drawn[::2], drawn[1::2], strict=True), *((left, right) for left in EDGES for right in EDGES)]
    assert len(pairs) >= 200
    for prediction, answer in pairs:
        assert normal_answer(prediction) == " ".join(plain_words(prediction))
        assert exact_match(prediction, answer) == float(plain_words(prediction) == plain_words(answer))
        assert overlap_f1(prediction, answer) == pytest.approx(float(plain_f1(prediction, answer)), abs=1e-12)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without ASCII punctuation and without whole-word articles."""
    kept = [character for character in text.lower() if character not in string.punctuation]
    runs: list[str] = []  # letters and digits together, everything else by itself
    for character in kept:
        if runs and character.isalnum() and runs[-1][-1].isalnum():
            runs[-1] += character
        else:
            runs.append(character)
    return "".join(" " if run in ("a", "an", "the") else run for run in runs).split()


def plain_f1(prediction: str, answer: str) -> Fraction:
    """Return F1 in whole numbers: 2PR / (P + R), shared words struck out one by one."""
    predicted, expected = plain_words(prediction), plain_words(answer)
    if not predicted or not expected:
        return Fraction(predicted == expected)
    left, shared = list(expected), 0
    for word in predicted:
        if word in left:
            left.remove(word)
            shared += 1
    if shared == 0:
        return Fraction(0)
    precision, recall = Fraction(shared, len(predicted)), Fraction(shared, len(expected))
    return 2 * precision * recall / (precision + recall)


def asked(identifier: str, *answers: str) -> Question:
    return Question(identifier, "?", "text", tuple(Answer(answer, 0) for answer in answers), "article", 0)


def test_the_best_of_several_answers_counts_and_the_versions_differ_on_empty_ones() -> None:
    several = [asked("several", "the cat", "the black cat")]
    assert squad_scores(several, "v1.1", {"several": "Black cat."}).metrics == {"exact_match": 100.0, "f1": 100.0}
    empty = [asked("empty", "the")]
    assert squad_scores(empty, "v1.1", {"empty": "a"}).metrics == {"exact_match": 100.0, "f1": 0.0}
    scores = squad_scores([asked("none"), *empty], "v2.0", {"none": "", "empty": ""}).metrics
    assert (scores["exact"], scores["f1"], scores["total"]) == (100.0, 100.0, 2)
    assert (scores["HasAns_f1"], scores["NoAns_f1"]) == (100.0, 100.0)


def test_missing_predictions_count_as_wrong_even_where_there_is_no_answer() -> None:
    questions = [asked("a", "cat"), asked("b")]
    scores = squad_scores(questions, "v2.0", {"a": "cat", "z": "dog"})
    assert (scores.missing, scores.extra) == (("b",), 1)
    assert scores.metrics["exact"] == 50.0
    assert scores.metrics["NoAns_exact"] == 0.0
    assert squad_scores([], "v2.0", {}).metrics == {}


CASES = st.lists(st.tuples(st.booleans(), st.sampled_from(["", "cat", "dog"]), st.integers(-3, 3)), min_size=1)


@given(CASES)
def test_a_threshold_is_as_good_as_the_best_by_brute_force(cases: list[tuple[bool, str, int]]) -> None:
    questions = [asked(str(place), *(["cat"] if has else [])) for place, (has, _, _) in enumerate(cases)]
    texts = {str(place): text for place, (_, text, _) in enumerate(cases)}
    odds = {str(place): float(value) for place, (_, _, value) in enumerate(cases)}
    answerable = {str(place): has for place, (has, _, _) in enumerate(cases)}
    raw = {name: overlap_f1(text, "cat" if answerable[name] else "") for name, text in texts.items()}

    def reached(threshold: float) -> float:
        return sum(after_threshold(raw, answerable, odds, threshold).values())

    chosen = chosen_threshold(raw, answerable, texts, odds)
    brute = max(map(reached, [-4.0, *(half / 2 for half in range(-7, 8))]))
    assert reached(chosen) == pytest.approx(brute)
    official = squad_scores(questions, "v2.0", texts, odds, null_threshold=chosen).metrics
    assert official["f1"] == pytest.approx(100 * brute / len(cases))
    assert official["best_f1"] >= official["f1"] - 1e-9 or min(odds.values()) > 0


def test_null_odds_are_needed_for_every_prediction() -> None:
    with pytest.raises(DataError, match="null odds: none for 1 of the predicted questions, the first is a"):
        squad_scores([asked("a", "cat")], "v2.0", {"a": "cat"}, {"b": 1.0})


def test_invalid_predictions_files_are_reported_by_question(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a": 1, "b": null, "c": "cat", "c": "dog", "d": ["x"]}', "predictions.json")
    with pytest.raises(DataError) as refused:
        read_predictions(path)
    assert list(refused.value.lines) == [
        "predictions.json: duplicate question 'c'",
        "predictions.json: question 'a': '1' is not a text",
        "predictions.json: question 'b': 'None' is not a text",
        "predictions.json: question 'd': \"['x']\" is not a text",
    ]
    with pytest.raises(DataError, match="expected an object from question identifiers to texts"):
        read_predictions(write(tmp_path, "[]", "predictions.json"))
    with pytest.raises(DataError, match="'b': 'True' is not a finite number"):
        read_null_odds(write(tmp_path, '{"a": 1, "b": true}', "odds.json"))
    assert read_null_odds(write(tmp_path, '{"a": 1, "b": -2.5}', "odds.json")) == {"a": 1.0, "b": -2.5}
