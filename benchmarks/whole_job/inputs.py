"""What every contender reads: documents as JSON lines, and a table of examples as CSV."""

import csv
import json
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.documentation import DocumentationCorpus

MEGABYTES = 2.5
LIBRARIES = {"torch": "a", "mlflow": "b"}
"""The two labels: which of two libraries a text documents; their documents are not in the corpus."""
TRAIN, DEV, CHARACTERS = 400, 200, 200


def write_inputs(folder: Path) -> None:
    """Write the text, and a task of two balanced labels made of other documents."""
    documents = list(DocumentationCorpus(maximum_megabytes=MEGABYTES).documents(lambda what, share: None))
    labelled = {library: [one for one in documents if _library(one) == library] for library in LIBRARIES}
    alternating = (one for pair in zip_longest(*labelled.values()) for one in pair if one is not None)
    examples = list(alternating)[: TRAIN + DEV]
    if len(examples) < TRAIN + DEV:
        raise ValueError(f"{len(examples)} examples in {MEGABYTES} MB, {TRAIN + DEV} are needed")
    (folder / "text").mkdir(parents=True)
    text = (json.dumps({"text": one.text}) + "\n" for one in documents if _library(one) not in LIBRARIES)
    (folder / "text" / "corpus.jsonl").write_text("".join(text), encoding="utf-8")
    _write_table(folder / "train.csv", examples[DEV:])
    _write_table(folder / "dev.csv", examples[:DEV])


def _library(document: Document) -> str:
    return document.source.partition(".")[0]


def _write_table(path: Path, examples: Iterable[Document]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("text", "library"))
        table.writerows((one.text[:CHARACTERS].replace("\n", " "), LIBRARIES[_library(one)]) for one in examples)
