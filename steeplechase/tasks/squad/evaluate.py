"""Scores a predictions file on SQuAD's data file, for `steeplechase score squad_v1_1` and `squad_v2_0`."""

from collections.abc import Iterator
from pathlib import Path

from steeplechase.tasks.labelled.task import Evaluation, Version
from steeplechase.tasks.squad.files import is_official_name, squad_file
from steeplechase.tasks.squad.official_metrics import SquadScores, squad_scores
from steeplechase.tasks.squad.predictions import read_null_odds, read_predictions
from steeplechase.tasks.squad.questions import SquadFile, read_squad

MOST_MISSING_SHOWN = 3


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
