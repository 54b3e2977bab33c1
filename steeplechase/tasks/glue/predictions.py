"""Reads a predictions file: the leaderboard's table, one prediction per line, or JSON."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes

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
        raise DataError(f"{path}: no such file of predictions")
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
