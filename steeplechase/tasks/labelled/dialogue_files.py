"""Reads dialogues as sources and targets: of Schema-Guided Dialogue, and of films (Cornell Movie-Dialogs)."""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_signature, json_of_line, text_lines
from steeplechase.tasks.labelled.example_files import TRANSLATION, ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example

USER, ASSISTANT = "USER", "SYSTEM"
SPEAKERS = {USER: "user", ASSISTANT: "assistant"}


@dataclass(frozen=True, kw_only=True)
class DialogueFiles(ExampleFiles):
    """Where the dialogues of a task are; `parts` has the first file of each."""

    siblings: str
    """The pattern of all files of a part, in the folder of the first."""
    no_rows: ClassVar[str] = "the files have no turn of the assistant"

    def task(self, name: str) -> DownstreamTask:
        """Return the task of these files under a name: what precedes a turn, and the turn."""
        return self.declared(name, "text_pair", TRANSLATION, None, siblings=self.siblings)

    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example]:
        """Yield a pair for every turn of the assistant."""
        paths = sorted(each for each in path.parent.iterdir() if fnmatch(each.name, self.siblings))
        for each in paths or [path]:
            yield from _of_file(each, mistakes)


def _of_file(path: Path, mistakes: Mistakes) -> Iterator[Example]:
    check_signature(path, path.name, path.suffix)
    try:
        dialogues = json_of_line("\n".join(line for _, line in text_lines(path, path.name)))
    except ValueError as wrong:
        raise DataError(f"{path.name}: not JSON: {wrong}") from wrong
    if not isinstance(dialogues, list):
        raise DataError(f"{path.name}: expected a list of dialogues, found {type(dialogues).__name__}")
    for number, dialogue in enumerate(dialogues, start=1):
        turns = _turns(dialogue)
        if turns is None:
            expected = f'"turns", a list of objects with "utterance" and "speaker", {USER} or {ASSISTANT}'
            mistakes.add(number, f"{path.name}, dialogue {number}: expected {expected}")
            continue
        yield from _pairs(turns, path.name, str(dialogue.get("dialogue_id", number)))


def _turns(dialogue: object) -> list[tuple[str, str]] | None:
    """Return speakers and texts, None where the dialogue has another layout."""
    found = dialogue.get("turns") if isinstance(dialogue, dict) else None
    if not isinstance(found, list) or not all(isinstance(turn, dict) for turn in found):
        return None
    turns = [(turn.get("speaker"), turn.get("utterance")) for turn in found]
    if not all(speaker in SPEAKERS and isinstance(text, str) and text.strip() for speaker, text in turns):
        return None
    return [(str(speaker), str(text).strip()) for speaker, text in turns]


def _pairs(turns: list[tuple[str, str]], file: str, dialogue: str) -> Iterator[Example]:
    """Yield a pair for each turn of the assistant that answers something, the last turns before it first.

    The order of the context is from the latest turn to the earliest, so that a source that is cut at its end keeps
    the turns that the response answers.
    """
    for place, (speaker, text) in enumerate(turns):
        if speaker == ASSISTANT and place:
            before = reversed(turns[:place])
            source = "\n".join(f"{SPEAKERS[one]}: {said}" for one, said in before)
            yield Example(source, text, source=file, row=f"{dialogue}-{place}")


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
        """Return the task of these files under a name: an utterance, and its answer."""
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
