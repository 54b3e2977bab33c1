"""CODAH, beside SWAG: adversarially written completions, four endings each. Chen et al. 2019 (arXiv 1904.04365).

Source: github.com/Websail-NU/CODAH, the first of its five folds (`fold_0`): tab-separated files without a header, of
category, prompt, four endings and the index of the right one. The test file has labels, so it is scored too.
Metric: accuracy. Chance is one fourth. Rows are few; the paper also fine-tunes on SWAG first.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.glue.evaluate import evaluate
from steeplechase.tasks.labelled.choice_files import ChoiceFiles, ChoiceRow
from steeplechase.tasks.labelled.mistakes import Mistakes

COLUMNS = ("category", "prompt", "ending 0", "ending 1", "ending 2", "ending 3", "label")


def rows(part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[ChoiceRow]:
    """Yield the rows of a fold."""
    for line, text in text_lines(path, name):
        cells = text.split("\t")
        if len(cells) != len(COLUMNS):
            mistakes.add(line, f"{len(cells)} cells, expected {len(COLUMNS)}: {', '.join(COLUMNS)}")
        else:
            yield ChoiceRow(line, cells[1], tuple(cells[2:6]), cells[6])


FILES = ChoiceFiles(
    folder="codah",
    parts={part: f"fold_0/{part}.tsv" for part in ("train", "dev", "test")},
    counts={"train": 1665, "dev": 556},
    origin="github.com/Websail-NU/CODAH",
    read_rows=rows,
)
_TASK = FILES.task("codah")
TASK = replace(_TASK, evaluate=partial(evaluate, _TASK, FILES))
