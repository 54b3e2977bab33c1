"""Tasks of four endings of which one is right: SWAG and CODAH. Metric: accuracy; chance is one fourth."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from steeplechase.tasks.glue.evaluate import evaluate
from steeplechase.tasks.labelled.delimited import delimited_rows, tab_cells, whole_rows
from steeplechase.tasks.labelled.example_files import ChoiceFiles, ChoiceRow
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask

CODAH_COLUMNS = ("category", "prompt", "ending 0", "ending 1", "ending 2", "ending 3", "label")
SENTENCE, START, LABEL = "sent1", "sent2", "label"
ENDINGS = ("ending0", "ending1", "ending2", "ending3")
HIDDEN = "test"


def codah_rows(part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[ChoiceRow]:
    """Yield the rows of a fold: tab-separated, without a header."""
    for row in whole_rows(tab_cells(path, name), CODAH_COLUMNS, mistakes):
        _, prompt, *endings, label = row.cells.values()
        yield ChoiceRow(row.line, prompt, tuple(endings), label)


def swag_rows(part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[ChoiceRow]:
    """Yield the rows of an official file; the test file has no labels.

    As in BERT (arXiv 1810.04805, section 4.4) the first sentence is text A; the beginning of the second with each
    ending is text B.
    """
    wanted = (SENTENCE, START, *ENDINGS, *(() if part == HIDDEN else (LABEL,)))
    for row in delimited_rows(path, name, ",", wanted, mistakes):
        start = row.cells[START].strip()
        endings = tuple(_continued(start, row.cells[column].strip()) for column in ENDINGS)
        yield ChoiceRow(row.line, row.cells[SENTENCE], endings, None if part == HIDDEN else row.cells[LABEL])


def _continued(start: str, ending: str) -> str:
    """Return the second sentence; no text if its ending is missing."""
    return f"{start} {ending}".strip() if ending else ""


SWAG = ChoiceFiles(
    about="SWAG: which of four endings continues a video caption? Zellers et al. 2018 (arXiv 1808.05326).",
    folder="swag",
    parts={"train": "train.csv", "dev": "val.csv", HIDDEN: "test.csv"},
    counts={"train": 73_546, "dev": 20_006},
    origin="github.com/rowanz/swagaf",
    read_rows=swag_rows,
)
CODAH = ChoiceFiles(
    about=(
        "CODAH, beside SWAG: adversarially written completions, four endings each. "
        "Chen et al. 2019 (arXiv 1904.04365)."
    ),
    folder="codah",
    parts={part: f"fold_0/{part}.tsv" for part in ("train", "dev", "test")},
    counts={"train": 1665, "dev": 556},
    origin="github.com/Websail-NU/CODAH",
    read_rows=codah_rows,
)
"""The first of its five folds. The test file has labels, so it is scored too."""


def _scored(files: ChoiceFiles, name: str) -> DownstreamTask:
    task = files.task(name)
    return replace(task, evaluate=partial(evaluate, task, files))


TASKS = (_scored(SWAG, "swag"), _scored(CODAH, "codah"))
