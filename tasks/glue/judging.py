"""A file of predictions against a labelled file of GLUE, by the metrics' official names, as shares from -1 to 1."""

from pathlib import Path
from typing import Protocol

from search_space.refusals import DataRefused
from tasks.downstream.scoring import score
from tasks.downstream.task import DownstreamTask, Example, Judged, Part
from tasks.glue.predictions import read_predictions
from tasks.glue.table import Mistakes
from tasks.published import FolderOfTasks

OFFICIAL_NAMES = {"matthews": "matthews_correlation", "spearman": "spearmanr"}
"""What GLUE's metric in the `evaluate` library calls them; the others have the same name."""


class AnswerTable(Protocol):
    """What is asked of a task's table: its examples, and what a predicted text means."""

    @property
    def answers(self) -> str:
        """What a prediction may be, in words."""

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the examples of a file; raises DataRefused with every mistake of it."""

    def answer_of(self, text: str) -> float | None:
        """Return the label's number or the value, None where the text is neither."""


def judged(
    task: DownstreamTask, table: AnswerTable, data: Path, predictions: Path, null_odds: Path | None = None
) -> Judged:
    """Return the task's metrics; `data` is GLUE's folder, the task's, or a labelled file.

    Raises DataRefused with every mistake of the predictions: labels that are none, rows that are missing, unknown
    or told twice.
    """
    if null_odds is not None:
        raise DataRefused(f"{null_odds}: {task.name} has no null odds; they belong to squad_v2_0")
    assert task.files is not None
    labelled = data if data.is_file() else FolderOfTasks(path=str(data)).located(task.files)["dev"]
    examples = table.read("dev", labelled, labelled.name).examples
    told = read_predictions(predictions, [example.row for example in examples])
    mistakes = Mistakes(predictions.name)
    answers = [_answer(table, text, line, mistakes) for line, text in told]
    mistakes.refuse()
    found = score(task, answers, [_right(example) for example in examples])
    metrics = {OFFICIAL_NAMES.get(metric, metric): value / 100 for metric, value in found.items()}
    return Judged(metrics, _remarks(predictions.name, [text for _, text in told]))


def _remarks(name: str, told: list[str]) -> tuple[str, ...]:
    if len(told) < 2 or len(set(told)) > 1:
        return ()
    return (f"{name}: all {len(told)} predictions are {told[0]!r:.40}; a correlation then counts as 0",)


def _answer(table: AnswerTable, text: str, line: int, mistakes: Mistakes) -> float:
    answer = table.answer_of(text)
    if answer is None:
        mistakes.add(line, f"{text[:40]!r} is no prediction; expected {table.answers}")
        return 0.0
    return answer


def _right(example: Example) -> float:
    right = example.label if example.value is None else example.value
    if right is None:
        raise DataRefused(f"row {example.row} has no label, so nothing can be scored by it")
    return right
