"""Which of two sentences is grammatical? BLiMP, 67 paradigms of minimal pairs (arXiv 1912.00582).

Source: github.com/alexwarstadt/blimp, `BLiMP.zip` as it is published: one JSON object to a line, 1,000 to a paradigm.
Method: zero-shot, by pseudo-log-likelihood (Salazar et al. 2020, arXiv 1910.14659); there is no train part. Metric:
accuracy over all pairs, which is the mean over paradigms, because they are equally large; accuracies are reported by
phenomenon (`linguistics_term`) too. Chance is one half, and so is a tie: two published pairs are of equal sentences.
"""

import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from foundation.errors import DataError
from tasks.labelled.mistakes import Mistakes
from tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles

GOOD, BAD, PHENOMENON, PARADIGM, PAIR = "sentence_good", "sentence_bad", "linguistics_term", "UID", "pairID"
FIELDS = (GOOD, BAD, PHENOMENON, PARADIGM, PAIR)
LINES, RESOURCE_FORKS = ".jsonl", "__MACOSX/"
LARGEST_FILE_BYTES = 2**24  # the largest of the archive has half a million


def read(part: str, path: Path, name: str) -> Part:
    """Return the pairs of the archive by paradigm; raises DataError with every mistake of the first bad file."""
    examples: list[Example] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for file in sorted(_paradigms(archive), key=lambda file: file.filename):
                member = f"{name}/{file.filename}"
                if file.file_size > LARGEST_FILE_BYTES:
                    raise DataError(f"{member}: {file.file_size} bytes; at most {LARGEST_FILE_BYTES} are read")
                examples += _pairs(archive.read(file), member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as damage:
        raise DataError(f"{name}: no readable zip archive: {damage}") from damage
    if not examples:
        raise DataError(f"{name}: holds no minimal pairs; expected files that end in {LINES}")
    return Part(tuple(examples))


def _paradigms(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    for file in archive.infolist():
        if file.filename.endswith(LINES) and not file.filename.startswith(RESOURCE_FORKS):
            yield file


def _pairs(raw: bytes, name: str) -> list[Example]:
    mistakes, pairs = Mistakes(name), list[Example]()
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            pair = _pair(line, number, mistakes)
            pairs += [] if pair is None else [pair]
    mistakes.refuse()
    return pairs


def _pair(line: bytes, number: int, mistakes: Mistakes) -> Example | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        mistakes.add(number, f"not JSON: {wrong}")
        return None
    if not isinstance(found, dict):
        mistakes.add(number, "no JSON object")
        return None
    wrong_fields = [field for field in FIELDS if not isinstance(found.get(field), str) or not found[field].strip()]
    if wrong_fields:
        mistakes.add(number, f"no text in {' and no text in '.join(wrong_fields)}")
        return None
    return Example(found[GOOD], found[BAD], row=f"{found[PARADIGM]}/{found[PAIR]}", group=found[PHENOMENON])


FILES = TaskFiles(
    folder="blimp",
    parts={"dev": "BLiMP.zip"},
    origin="github.com/alexwarstadt/blimp",
    read=read,
    counts={"train": 0, "dev": 67_000},
    needed=("dev",),
    collection="probing",
)
TASK = DownstreamTask(
    name="blimp",
    version=1,
    form="pair",
    labels=(),
    metrics=("accuracy",),
    chance=0.5,
    files=FILES,
    method="minimal_pairs",
)
