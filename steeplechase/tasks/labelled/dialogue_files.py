"""Reads dialogues of a user and an assistant, in the layout of Schema-Guided Dialogue, as sources and targets."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import ClassVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_signature, json_of_line, text_lines
from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example
from steeplechase.tasks.labelled.text_pair_files import TRANSLATION

USER, ASSISTANT = "USER", "SYSTEM"
SPEAKERS = {USER: "user", ASSISTANT: "assistant"}


@dataclass(frozen=True, kw_only=True)
class DialogueFiles(ExampleFiles):
    """Where the dialogues of a task are; `parts` has the first file of each."""

    siblings: str
    """The pattern of all files of a part, in the folder of the first."""
    no_rows: ClassVar[str] = "the files have no turn of the assistant"

    def task(self, name: str) -> DownstreamTask:
        """Return the task."""
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
