"""BLiMP: linguistic acceptability, 67 paradigms of minimal pairs (Warstadt et al. 2020, arXiv 1912.00582).

Source: github.com/alexwarstadt/blimp, the published `BLiMP.zip`: one JSON object per line, 1,000 per paradigm.
Method: zero-shot, by pseudo-log-likelihood (Salazar et al. 2020, arXiv 1910.14659); there is no train part.
Metric: accuracy over all pairs, which is the mean over paradigms, because they have equal sizes; also reported by
phenomenon (`linguistics_term`). Chance is one half. A tie counts one half: two published pairs have equal sentences.
"""

import zipfile
import zlib
from pathlib import Path

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import json_of_line
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles

ACCEPTABLE, UNACCEPTABLE, PHENOMENON, PARADIGM, PAIR = (
    "sentence_good",
    "sentence_bad",
    "linguistics_term",
    "UID",
    "pairID",
)
FIELDS = (ACCEPTABLE, UNACCEPTABLE, PHENOMENON, PARADIGM, PAIR)
PARADIGM_SUFFIX, RESOURCE_FORKS = ".jsonl", "__MACOSX/"
MAX_FILE_BYTES = 2**24  # the largest published file has half a million
MAX_BYTES = 2**28


def read(part: str, path: Path, name: str) -> Part:
    """Return the pairs of the archive, sorted by paradigm; `name` is its name in messages.

    Raises DataError with all mistakes of the first file that has any.
    """
    examples: list[Example] = []
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for file in sorted(archive.infolist(), key=lambda file: file.filename):
                if not file.filename.endswith(PARADIGM_SUFFIX) or file.filename.startswith(RESOURCE_FORKS):
                    continue
                member = f"{name}/{file.filename}"
                total += file.file_size
                if file.file_size > MAX_FILE_BYTES or total > MAX_BYTES:
                    most = f"at most {MAX_FILE_BYTES} of a file and {MAX_BYTES} of all are read"
                    raise DataError(f"{member}: {file.file_size} bytes; {most}")
                examples += _pairs(archive.read(file), member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as damage:
        raise DataError(f"{name}: not a readable zip archive: {damage}") from damage
    if not examples:
        raise DataError(f"{name}: no minimal pairs; expected files that end in {PARADIGM_SUFFIX}")
    return Part(tuple(examples))


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
        content = json_of_line(line.decode("utf-8-sig"))
    except ValueError as wrong:
        mistakes.add(number, f"not JSON: {wrong}")
        return None
    if not isinstance(content, dict):
        mistakes.add(number, "not a JSON object")
        return None
    empty = [field for field in FIELDS if not isinstance(content.get(field), str) or not content[field].strip()]
    if empty:
        mistakes.add(number, f"no text in {', '.join(empty)}")
        return None
    return Example(
        content[ACCEPTABLE],
        content[UNACCEPTABLE],
        row=f"{content[PARADIGM]}/{content[PAIR]}",
        group=content[PHENOMENON],
    )


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
