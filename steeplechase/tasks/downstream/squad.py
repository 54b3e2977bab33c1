"""SQuAD: extractive question answering on paragraphs, of which long ones are split into overlapping windows.

Train and dev are the official files; the test set is hidden, so dev scores are reported: of models, and of a file of
predictions with `steeplechase score`. In version 2.0 the threshold of "no answer" is selected on a tenth of the
paragraphs of the train file, which is excluded from training.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TypeVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import DownstreamTask, Evaluation, Version
from steeplechase.tasks.squad.files import (
    Fields,
    first_errors,
    is_official_name,
    published,
    read_json,
    squad_file,
)
from steeplechase.tasks.squad.official_metrics import SquadScores, squad_scores
from steeplechase.tasks.squad.questions import SquadFile, read_squad

V1_1 = "SQuAD 1.1: extractive question answering on paragraphs (Rajpurkar et al. 2016, arXiv 1606.05250)."
V2_0 = "SQuAD 2.0: SQuAD 1.1 and questions without an answer (Rajpurkar et al. 2018, arXiv 1806.03822)."
MOST_MISSING_SHOWN = 3
Value = TypeVar("Value", str, float)


def score_files(version: Version, data: Path, predictions: Path, null_odds: Path | None = None) -> Evaluation:
    """Score predictions (identifier to text) on the official dev file, or on the one in a folder.

    Raises DataError, all mistakes of a file at once, where one is missing or malformed.
    """
    path = squad_file(data, version, "dev")
    file = read_squad(path, version)
    odds = None if null_odds is None else read_null_odds(null_odds)
    scores = squad_scores(file.questions, version, read_predictions(predictions), odds)
    return Evaluation(scores.metrics, tuple(_remarks(file, path, predictions.name, scores)))


def _remarks(file: SquadFile, path: Path, predictions: str, scores: SquadScores) -> Iterator[str]:
    if not is_official_name(path, file.version, "dev"):
        yield f"{file.name}: not dev-{file.version}.json; {len(file.questions)} questions"
    if scores.missing:
        shown = ", ".join(scores.missing[:MOST_MISSING_SHOWN])
        more = len(scores.missing) - MOST_MISSING_SHOWN
        several = f"{shown} and {more} more" if more > 0 else shown
        count = f"{len(scores.missing)} of {len(file.questions)} questions"
        yield f"{predictions}: no prediction for {count}, which score 0: {several}"
    if scores.extra:
        yield f"{predictions}: {scores.extra} predictions are of questions that are not in {file.name}; ignored"


def read_predictions(path: Path) -> dict[str, str]:
    """Return texts by identifier; raises DataError, all mistakes at once, for values that are not texts."""
    return _read(path, "a text", lambda value: value if isinstance(value, str) else None)


def read_null_odds(path: Path) -> dict[str, float]:
    """Return odds by identifier; raises DataError, all mistakes at once, for values that are not finite numbers."""
    return _read(path, "a finite number", _number)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _read(path: Path, expected: str, read: Callable[[object], Value | None]) -> dict[str, Value]:
    fields = read_json(path)
    if not isinstance(fields, Fields):
        raise DataError(
            f"{path.name}: expected an object from question identifiers to {expected.removeprefix('a ')}s"
        )
    mistakes = [f"{path.name}: duplicate question {name!r}" for name in fields.repeated]
    values: dict[str, Value] = {}
    for identifier, value in fields.items():
        parsed = read(value)
        if parsed is None:
            mistakes.append(f"{path.name}: question {identifier!r}: {str(value)[:40]!r} is not {expected}")
        else:
            values[identifier] = parsed
    if mistakes:
        raise DataError(first_errors(mistakes))
    return values


def _task(name: str, about: str, version: Version, metrics: tuple[str, ...], train: int, dev: int) -> DownstreamTask:
    return DownstreamTask(
        name=name,
        version=1,
        form="windows",
        labels=(),
        metrics=metrics,
        chance=0.0,
        files=published(version, train, dev),
        squad=version,
        evaluate=partial(score_files, version),
        shortest_sequence=68,  # [CLS], a question of 64 tokens, [SEP], one token, [SEP]
        long_sequences=True,
        about=about,
    )


TASKS = (
    _task("squad_v1_1", V1_1, "v1.1", ("f1", "exact_match"), 87_599, 10_570),
    _task("squad_v2_0", V2_0, "v2.0", ("f1", "exact"), 130_319, 11_873),
)
