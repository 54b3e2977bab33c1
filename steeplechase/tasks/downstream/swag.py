"""SWAG: which of four endings continues a video caption? Zellers et al. 2018 (arXiv 1808.05326).

Source: github.com/rowanz/swagaf, `data`: comma-separated files with a header; the test file has no labels.
Context and endings as in BERT (arXiv 1810.04805, section 4.4): the first sentence is text A; the beginning of the
second sentence with each ending is text B.
Metric: accuracy. Chance is one fourth.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from steeplechase.tasks.glue.evaluate import evaluate
from steeplechase.tasks.labelled.choice_files import ChoiceFiles, ChoiceRow
from steeplechase.tasks.labelled.delimited import delimited_rows
from steeplechase.tasks.labelled.mistakes import Mistakes

SENTENCE, START, LABEL = "sent1", "sent2", "label"
ENDINGS = ("ending0", "ending1", "ending2", "ending3")
HIDDEN = "test"


def rows(part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[ChoiceRow]:
    """Yield the rows of an official file."""
    wanted = (SENTENCE, START, *ENDINGS, *(() if part == HIDDEN else (LABEL,)))
    for row in delimited_rows(path, name, ",", wanted, mistakes):
        start = row.cells[START].strip()
        endings = tuple(_continued(start, row.cells[column].strip()) for column in ENDINGS)
        yield ChoiceRow(row.line, row.cells[SENTENCE], endings, None if part == HIDDEN else row.cells[LABEL])


def _continued(start: str, ending: str) -> str:
    """Return the second sentence; no text if its ending is missing."""
    return f"{start} {ending}".strip() if ending else ""


FILES = ChoiceFiles(
    folder="swag",
    parts={"train": "train.csv", "dev": "val.csv", HIDDEN: "test.csv"},
    counts={"train": 73_546, "dev": 20_006},
    origin="github.com/rowanz/swagaf",
    read_rows=rows,
)
_TASK = FILES.task("swag")
TASK = replace(_TASK, evaluate=partial(evaluate, _TASK, FILES))
