"""Reads the conversations of films, in the layout of the Cornell Movie-Dialogs Corpus, as sources and targets."""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example
from steeplechase.tasks.labelled.text_pair_files import TRANSLATION

SEPARATOR, ENCODING = "+++$+++", "iso-8859-1"
CONVERSATIONS, LINES = "movie_conversations.txt", "movie_lines.txt"


@dataclass(frozen=True, kw_only=True)
class MovieDialogueFiles(ExampleFiles):
    """Where the conversations are, and which films are in dev."""

    parts: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(("train", "dev"), CONVERSATIONS))
    dev_percent: int
    """Percent of the films, by a hash of their identifiers: no film is in both parts."""
    no_rows: ClassVar[str] = "no pair of utterances"

    def task(self, name: str) -> DownstreamTask:
        """Return the task."""
        return self.declared(name, "text_pair", TRANSLATION, None, beside=dict.fromkeys(self.parts, LINES))

    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example | None]:
        """Yield a pair for every utterance and the one that answers it; None for a pair with an empty one.

        Raises DataError with every mistake of the file of lines.
        """
        of_lines = Mistakes(f"{name.removesuffix(CONVERSATIONS)}{LINES}")
        utterances = _utterances(path.with_name(LINES), of_lines)
        of_lines.refuse()
        for number, film, identifiers in _conversations(path, mistakes):
            if self._in_dev(film) != (part == "dev"):
                continue
            unknown = [each for each in identifiers if each not in utterances]
            if unknown:
                mistakes.add(number, f"no line {', '.join(unknown)} in {LINES}")
                continue
            for one, next_one in pairwise(identifiers):
                source, target = utterances[one], utterances[next_one]
                pair = Example(source, target, source=film, row=f"{one}-{next_one}")
                yield pair if source and target else None

    def _in_dev(self, film: str) -> bool:
        digest = hashlib.sha256(f"film:{film}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % 100 < self.dev_percent


def _utterances(path: Path, mistakes: Mistakes) -> dict[str, str]:
    """Return the texts of the lines by identifier."""
    found = dict[str, str]()
    for number, row in text_lines(path, path.name, ENCODING):
        fields = [field.strip() for field in row.split(SEPARATOR)]
        if len(fields) != 5:
            mistakes.add(number, f"{len(fields)} fields by {SEPARATOR}; expected line, speaker, film, name, text")
        elif fields[0] in found:
            mistakes.add(number, f"line {fields[0]} occurs twice")
        else:
            found[fields[0]] = fields[4]
    return found


def _conversations(path: Path, mistakes: Mistakes) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (line number, film, identifiers of the lines)."""
    for number, row in text_lines(path, path.name, ENCODING):
        fields = [field.strip() for field in row.split(SEPARATOR)]
        identifiers = _identifiers(fields[-1])
        if len(fields) != 4 or identifiers is None:
            expected = f"two speakers, the film and a list of lines such as ['L1', 'L2'], separated by {SEPARATOR}"
            mistakes.add(number, f"expected {expected}")
        else:
            yield number, fields[2], identifiers


def _identifiers(text: str) -> list[str] | None:
    """Return a list as Python writes it, None for anything else."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None
