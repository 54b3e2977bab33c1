"""Scores a predictions file on a labelled file of GLUE; metrics have official names and are shares from -1 to 1."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.dataset_folder import scored_file
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Evaluation, Example, Part
from steeplechase.tasks.metrics import CORRELATIONS

HEADER = "index\tprediction"

Prediction = tuple[int, str]
"""Line number (in JSON, position from 1) and predicted text."""


class _Fields(list[tuple[str, object]]):
    """The fields of a JSON object in order, repeated ones too."""


def read_predictions(path: Path, rows: Sequence[str]) -> list[Prediction]:
    """Return one prediction per row, in the order of the rows.

    The leaderboard's table (`index`, `prediction`) and a JSON object identify their rows; lines and a JSON list are
    in the order of the rows. Raises DataError if the file has none of these formats, or rows are missing, unknown or
    duplicated.
    """
    if path.is_dir():
        raise DataError(f"{path}: a folder; give the file of predictions")
    if not path.is_file():
        raise DataError(f"{path}: no file of predictions is there")
    lines = list(text_lines(path, path.name))
    while lines and not lines[-1][1].strip():
        lines.pop()
    if lines and lines[0][1] == HEADER:
        return _by_row(path.name, _cells(path.name, lines[1:]), rows)
    if lines and lines[0][1].lstrip()[:1] in ("[", "{"):
        return _of_json(path.name, "\n".join(text for _, text in lines), rows)
    return _in_order(path.name, [(number, text.strip()) for number, text in lines], rows)


def _cells(name: str, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    mistakes = Mistakes(name)
    table_rows = []
    for number, text in lines:
        cells = text.split("\t")
        if len(cells) == 2:
            table_rows.append((number, cells[0], cells[1]))
        else:
            mistakes.add(number, f"{len(cells)} cells, expected 2: index, prediction")
    mistakes.refuse()
    yield from table_rows


def _of_json(name: str, text: str, rows: Sequence[str]) -> list[Prediction]:
    try:
        document = json.loads(text, object_pairs_hook=_Fields)
    except (ValueError, RecursionError) as wrong:
        raise DataError(f"{name}: not JSON: {wrong}") from wrong
    if isinstance(document, _Fields):
        predictions = ((number, row, _text(value)) for number, (row, value) in enumerate(document, 1))
        return _by_row(name, predictions, rows)
    return _in_order(name, [(number, _text(value)) for number, value in enumerate(document, 1)], rows)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _in_order(name: str, predictions: list[Prediction], rows: Sequence[str]) -> list[Prediction]:
    if len(predictions) != len(rows):
        raise DataError(f"{name}: {len(predictions)} predictions for {len(rows)} labelled rows")
    return predictions


def _by_row(name: str, predictions: Iterator[tuple[int, str, str]], rows: Sequence[str]) -> list[Prediction]:
    known, mistakes = set(rows), Mistakes(name)
    by_row: dict[str, Prediction] = {}
    for number, row, prediction in predictions:
        if row not in known:
            mistakes.add(number, f"row {row[:40]!r} is not one of the {len(rows)} labelled rows")
        elif row in by_row:
            mistakes.add(number, f"duplicate row {row!r}, first in line {by_row[row][0]}")
        else:
            by_row[row] = (number, prediction)
    missing = [row for row in rows if row not in by_row]
    if missing:
        mistakes.add(1, f"{len(missing)} of {len(rows)} rows have no prediction, the first is row {missing[0]!r}")
    mistakes.refuse()
    return [by_row[row] for row in rows]


OFFICIAL_NAMES = {"matthews": "matthews_correlation", "spearman": "spearmanr"}
"""Names in GLUE's metric of the `evaluate` library, if different."""


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
    assert task.files is not None
    labelled = scored_file(data, task.files, task.name, null_odds)
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
