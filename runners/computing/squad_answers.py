"""Predictions of a fine-tuned model on SQuAD; for 2.0, selection of the "no answer" threshold."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runners.stages.context import Diverged, StageContext
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import write_example_values
from steeplechase.ledger.paths import example_scores_file, predictions_file
from steeplechase.tasks.labelled.encoding import EncodedExamples
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.squad.official_metrics import chosen_threshold, question_scores
from steeplechase.tasks.squad.prepare import DEV, THRESHOLD
from steeplechase.tasks.squad.questions import Question
from steeplechase.tasks.squad.spans import with_threshold
from steeplechase.tasks.squad.windows import Answers, answers_of, load_question_windows

NULL_ODDS, TEXTS = "null_odds.json", "texts.json"

LogitsOf = Callable[[EncodedExamples], Iterable[NDArray[np.float32]]]
"""Function from encoded windows to the start and end logits [seq 2] of each."""


def answer_questions(version: Version, context: StageContext, logits_of: LogitsOf) -> dict[str, JsonValue]:
    """Write the predicted answers to the dev questions in the official format; return their number and the threshold.

    For 2.0 the threshold has the best F1 on the questions held out of training; `texts.json` and `null_odds.json`
    contain the answers before thresholding. Raises Diverged if logits are not finite.
    """
    examples = context.inputs["examples"]
    result: dict[str, JsonValue] = {}
    threshold = None
    if version == "v2.0":
        questions, answers = _predict_answers(examples / THRESHOLD, logits_of)
        threshold = _threshold_with_best_f1(questions, answers)
        unanswerable = sum(not question.answerable for question in questions)
        result |= {"null_threshold": threshold, "threshold_questions": len(questions)}
        result |= {"threshold_unanswerable": unanswerable}
    questions, answers = _predict_answers(examples / DEV, logits_of)
    texts = answers.texts if threshold is None else with_threshold(answers.texts, answers.null_odds, threshold)
    _write(context.folder / predictions_file(DEV), texts)
    if threshold is not None:
        _write(context.folder / TEXTS, answers.texts)
        _write(context.folder / NULL_ODDS, answers.null_odds)
    scores = question_scores(questions, texts, version)
    by_metric = {"f1": scores.f1, "exact_match" if version == "v1.1" else "exact": scores.exact}
    values = {
        metric: [by_question[question.identifier] for question in questions]
        for metric, by_question in by_metric.items()
    }
    score_file = write_example_values(context.folder / example_scores_file(DEV), values)
    return {"examples": len(questions), "example_scores": {DEV: score_file}, **result}


def _predict_answers(folder: Path, logits_of: LogitsOf) -> tuple[tuple[Question, ...], Answers]:
    questions, windows = load_question_windows(folder)
    try:
        return questions, answers_of(questions, windows, logits_of(windows))
    except ValueError as wrong:
        raise Diverged({"error": f"{folder.name}: {wrong}"}) from wrong


def _threshold_with_best_f1(questions: tuple[Question, ...], answers: Answers) -> float:
    scores = question_scores(questions, answers.texts, "v2.0").f1
    answerable = {question.identifier: question.answerable for question in questions}
    return chosen_threshold(scores, answerable, answers.texts, answers.null_odds)


def _write(path: Path, values: dict[str, str] | dict[str, float]) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
