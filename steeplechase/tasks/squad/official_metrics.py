"""The metrics of SQuAD's official scripts, with their names and scale, 0 to 100; and the threshold of "no answer".

Source: evaluate-v1.1.py and evaluate-v2.0.py of https://rajpurkar.github.io/SQuAD-explorer. Predictions of other
questions are ignored. A question without a prediction scores 0, as in the script of 1.1; the script of 2.0 omits it
and then fails on the answerable subset.

In 2.0, odds are the score of "no answer" minus that of the best text; above the threshold the prediction is "no
answer" (arXiv 1810.04805, section 4.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.metrics import exact_match, normal_answer, overlap_f1
from steeplechase.tasks.squad.questions import Question

OFFICIAL_NULL_THRESHOLD = 1.0  # the script's default, meant for probabilities


@dataclass(frozen=True)
class SquadScores:
    """Metrics of a predictions file on a data file."""

    metrics: Mapping[str, float]
    """By official name; counts (`total`) are whole numbers."""
    missing: tuple[str, ...]
    """Questions without a prediction, in the order of the data."""
    extra: int
    """Predictions of questions that are not in the data."""


@dataclass(frozen=True)
class QuestionScores:
    """Exact match and F1 of each question by its identifier, as shares."""

    exact: Mapping[str, float]
    f1: Mapping[str, float]


def question_scores(
    questions: Sequence[Question], predictions: Mapping[str, str], version: Version
) -> QuestionScores:
    """Return the maximum over each question's answers; 0 without a prediction."""
    exact, f1 = {}, {}
    for question in questions:
        prediction = predictions.get(question.identifier)
        answers = _reference_answers(question, version) if prediction is not None else ()
        text = prediction or ""
        exact[question.identifier] = max((exact_match(text, each) for each in answers), default=0.0)
        f1[question.identifier] = max((_f1(text, each, version) for each in answers), default=0.0)
    return QuestionScores(exact, f1)


def squad_scores(
    questions: Sequence[Question],
    version: Version,
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float] | None = None,
    null_threshold: float = OFFICIAL_NULL_THRESHOLD,
) -> SquadScores:
    """Return the official scores of predictions (identifier to text).

    `null_odds` (2.0 only): score of "no answer" minus that of the text; above `null_threshold` the prediction is
    "no answer". With them the metrics include `best_exact`, `best_f1` and their thresholds, chosen on the same
    data: an upper bound, not a result. Raises DataError for missing odds.
    """
    identifiers = {question.identifier for question in questions}
    missing = tuple(question.identifier for question in questions if question.identifier not in predictions)
    scores = question_scores(questions, predictions, version)
    if version == "v1.1":
        metrics = {"exact_match": _mean(scores.exact, identifiers), "f1": _mean(scores.f1, identifiers)}
    else:
        metrics = _with_unanswerable(questions, scores, predictions, null_odds, null_threshold)
    return SquadScores(metrics, missing, sum(identifier not in identifiers for identifier in predictions))


def after_threshold(
    scores: Mapping[str, float], answerable: Mapping[str, bool], null_odds: Mapping[str, float], threshold: float
) -> dict[str, float]:
    """Return the scores with "no answer" predicted for questions with odds above the threshold."""
    return {
        identifier: float(not answerable[identifier]) if null_odds.get(identifier, threshold) > threshold else score
        for identifier, score in scores.items()
    }


def _with_unanswerable(
    questions: Sequence[Question],
    scores: QuestionScores,
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float] | None,
    null_threshold: float,
) -> dict[str, float]:
    answerable = {question.identifier: question.answerable for question in questions}
    by_name: dict[str, Mapping[str, float]] = {"exact": scores.exact, "f1": scores.f1}
    bounds: dict[str, float] = {}
    if null_odds is not None:
        _refuse_missing_odds(predictions, answerable, null_odds)
        for name, raw in by_name.items():
            best, threshold = _best_as_official(raw, answerable, predictions, null_odds)
            bounds |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
        by_name = {name: after_threshold(raw, answerable, null_odds, null_threshold) for name, raw in by_name.items()}
    metrics: dict[str, float] = {}
    for prefix, wanted in (("", (True, False)), ("HasAns_", (True,)), ("NoAns_", (False,))):
        chosen = {identifier for identifier, has in answerable.items() if has in wanted}
        if chosen:
            metrics |= {f"{prefix}{name}": _mean(values, chosen) for name, values in by_name.items()}
            metrics[f"{prefix}total"] = len(chosen)
    return metrics | bounds


def _refuse_missing_odds(
    predictions: Mapping[str, str], answerable: Mapping[str, bool], null_odds: Mapping[str, float]
) -> None:
    without = [each for each in answerable if each in predictions and each not in null_odds]
    if without:
        message = f"null odds: none for {len(without)} of the predicted questions, the first is {without[0]}"
        raise DataError(f"{message}; expected a number for each")


def _reference_answers(question: Question, version: Version) -> tuple[str, ...]:
    """Return the distinct answers that count; 2.0 skips those that are empty in normal form."""
    texts = tuple(dict.fromkeys(answer.text for answer in question.answers))
    if version == "v1.1":
        return texts
    return tuple(text for text in texts if normal_answer(text)) or ("",)


def _f1(prediction: str, answer: str, version: Version) -> float:
    """Return F1 as defined by the version: two empty texts score 1 in 2.0 and 0 in 1.1."""
    if version == "v1.1" and not normal_answer(prediction):
        return 0.0
    return overlap_f1(prediction, answer)


def _mean(scores: Mapping[str, float], chosen: set[str]) -> float:
    return 100 * sum(score for identifier, score in scores.items() if identifier in chosen) / len(chosen)


def _best_as_official(
    scores: Mapping[str, float],
    answerable: Mapping[str, bool],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
) -> tuple[float, float]:
    """Return the best mean score times 100 over all thresholds and that threshold, as evaluate-v2.0.py finds them.

    An upper bound in two ways: the threshold is chosen on the evaluated data, and questions with equal odds are
    separated. The script starts at 0 with every question unanswered, for any odds.
    """
    current = best = float(sum(not has for has in answerable.values()))
    threshold = 0.0
    for identifier in sorted(null_odds, key=lambda each: null_odds[each]):
        if identifier not in answerable or identifier not in predictions:
            continue
        current += _gain(scores[identifier], answerable[identifier], predictions[identifier])
        if current > best:
            best, threshold = current, null_odds[identifier]
    return 100 * best / len(scores), threshold


def chosen_threshold(
    scores: Mapping[str, float],
    answerable: Mapping[str, bool],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
) -> float:
    """Return the threshold with the highest mean score, halfway to the next odds; the lowest of equal ones.

    For data that no result is reported on. Questions with equal odds are on the same side. Below the lowest
    odds by 1 every question is unanswered; without questions it is 0.
    """
    levels = sorted(set(null_odds.values()))
    if not levels:
        return 0.0
    gains = dict.fromkeys(levels, 0.0)
    for identifier, odds in null_odds.items():
        gains[odds] += _gain(scores[identifier], answerable[identifier], predictions[identifier])
    thresholds = [levels[0] - 1.0, *(_between(low, high) for low, high in pairwise(levels)), levels[-1] + 1.0]
    current = best = 0.0
    chosen = thresholds[0]
    for level, threshold in zip(levels, thresholds[1:], strict=True):
        current += gains[level]
        if current > best:
            best, chosen = current, threshold
    return chosen


def _between(low: float, high: float) -> float:
    """Return a number from `low` on and below `high`: the middle, unless rounding moves it to an end."""
    middle = (low + high) / 2
    return middle if low <= middle < high else low


def _gain(score: float, answerable: bool, prediction: str) -> float:
    """Return the change of the score if the text is predicted instead of "no answer"."""
    if answerable:
        return score
    return -1.0 if prediction else 0.0
