"""Scores a predictions file on a labelled file of GLUE; metrics have official names and are shares from -1 to 1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.dataset_folder import FolderOfTasks, origin_of
from steeplechase.tasks.glue.predictions import read_predictions
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Evaluation, Example, Part

OFFICIAL_NAMES = {"matthews": "matthews_correlation", "spearman": "spearmanr"}
"""Names in GLUE's metric of the `evaluate` library, if different."""

CORRELATIONS = frozenset({"matthews", "pearson", "spearman"})


class AnswerTable(Protocol):
    """Interface of a task's table: its examples, and the meaning of a predicted text."""

    @property
    def predictions(self) -> str:
        """The allowed predictions, for messages."""

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the examples of a file; raises DataError with every mistake of it."""

    def prediction_of(self, text: str) -> float | None:
        """Return the label's number or the value, None if the text is invalid."""


def evaluate(
    task: DownstreamTask, table: AnswerTable, data: Path, predictions: Path, null_odds: Path | None = None
) -> Evaluation:
    """Return the task's metrics; `data` is GLUE's folder, the task's, or a labelled file.

    Raises DataError with every mistake of the predictions: invalid labels, and missing, unknown or duplicate rows.
    """
    if null_odds is not None:
        raise DataError(f"{null_odds}: {task.name} has no null odds; they belong to squad_v2_0")
    assert task.files is not None
    labelled = data if data.is_file() else FolderOfTasks(path=str(data)).located(task.files).get("dev")
    if labelled is None:
        raise DataError(f"{data}: scoring needs the official file; {origin_of(task.files)}")
    from steeplechase.tasks.labelled.scoring import score  # numpy, which the declaration of a task does without

    examples = table.read("dev", labelled, labelled.name).examples
    lines = read_predictions(predictions, [example.row for example in examples])
    mistakes = Mistakes(predictions.name)
    answers = [_answer(table, text, line, mistakes) for line, text in lines]
    mistakes.refuse()
    references = [_reference(example) for example in examples]
    scores = score(task, answers, references)
    metrics = {OFFICIAL_NAMES.get(metric, metric): value / 100 for metric, value in scores.items()}
    remarks = [*_same_predictions(predictions.name, [text for _, text in lines])]
    if CORRELATIONS.intersection(task.metrics):
        remarks += _same_references(labelled.name, references)
    return Evaluation(metrics, tuple(remarks))


def _same_predictions(name: str, predictions: list[str]) -> Iterator[str]:
    if len(predictions) > 1 and len(set(predictions)) == 1:
        yield f"{name}: all {len(predictions)} predictions are {predictions[0]!r:.40}; a correlation then counts as 0"


def _same_references(name: str, references: list[float]) -> Iterator[str]:
    if len(set(references)) == 1:
        rows = (
            f"all {len(references)} references are {references[0]:g}"
            if len(references) > 1
            else "there is one reference"
        )
        yield f"{name}: {rows}; a correlation with them is undefined and counts as 0"


def _answer(table: AnswerTable, text: str, line: int, mistakes: Mistakes) -> float:
    answer = table.prediction_of(text)
    if answer is None:
        mistakes.add(line, f"{text[:40]!r} is not a valid prediction; expected {table.predictions}")
        return 0.0
    return answer


def _reference(example: Example) -> float:
    reference = example.label if example.value is None else example.value
    if reference is None:
        raise DataError(f"row {example.row} has no label, so it cannot be scored")
    return reference
