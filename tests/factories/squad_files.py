"""SQuAD files: the published ones, each read once, and small ones written the way these are."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.squad.files import Part, squad_file
from steeplechase.tasks.squad.questions import SquadFile, read_squad
from tests.factories.published_data import published

Json = dict[str, Any]


@cache
def official(version: Version, part: Part = "dev") -> SquadFile:
    """Return the questions of a published file."""
    return read_squad(squad_file(published("squad"), version, part), version)


def question(identifier: str, text: str, *answers: tuple[str, int], impossible: bool | None = None) -> Json:
    """Return one of `qas`; `impossible` is left out where it is None, as in SQuAD 1.1."""
    written: Json = {
        "id": identifier,
        "question": text,
        "answers": [{"text": answer, "answer_start": start} for answer, start in answers],
    }
    return written if impossible is None else {**written, "is_impossible": impossible}


def document(*paragraphs: tuple[str, list[Json]], title: str = "Normandy") -> Json:
    """Return a file's content: one article of (context, questions)."""
    shown = [{"context": context, "qas": questions} for context, questions in paragraphs]
    return {"version": "1.1", "data": [{"title": title, "paragraphs": shown}]}


def write(folder: Path, content: object, name: str = "dev-v1.1.json") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path
