"""SQuAD's examples prepared on disk: the windows of what is learned from, tuned on and reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from search_space.declaration import JsonValue
from search_space.refusals import DataRefused
from tasks.downstream.encoding import save_examples
from tasks.progress import Progress
from tasks.squad.asked import as_rows, save_asked
from tasks.squad.drawing import held_out, taken
from tasks.squad.files import Part, data_folder, is_official_name, squad_file
from tasks.squad.questions import Question, SquadFile, Version, read_squad
from tasks.squad.windows import Windows, encode_windows
from tasks.tokenizer import WordPiece

TRAIN, THRESHOLD, DEV = "train", "threshold", "dev"
"""What is learned from, what the threshold of "no answer" is chosen on (2.0 only), what is reported."""


@dataclass(frozen=True)
class Amounts:
    """How many questions at most, and how many tokens a window has."""

    train: int
    dev: int
    window_tokens: int


def prepare(
    version: Version, data: Path, words: WordPiece, amounts: Amounts, folder: Path, progress: Progress
) -> dict[str, JsonValue]:
    """Write the windows of every part into `folder` and return its figures by part.

    Parts are capped by a hash of the questions' identifiers; where a cap bites, the figures say of how many. Raises
    DataRefused for files that are missing or malformed.
    """
    source = data_folder(data)
    progress(f"reading SQuAD {version}", 0.0)
    train_file = read_squad(squad_file(source, version, "train"), version)
    dev_file = read_squad(squad_file(source, version, "dev"), version)
    learned, aside = held_out(train_file.questions) if version == "v2.0" else (train_file.questions, ())
    parts = {TRAIN: (learned, amounts.train, train_file), DEV: (dev_file.questions, amounts.dev, dev_file)}
    if version == "v2.0":
        parts[THRESHOLD] = (aside, amounts.dev, train_file)
    figures: dict[str, JsonValue] = {}
    for number, (part, (questions, most, file)) in enumerate(parts.items()):
        progress(f"windows of SQuAD {version}: {part}", 0.1 + 0.3 * number)
        chosen = taken(questions, most)
        if not chosen:
            raise DataRefused(f"{file.name}: leaves no question for the part {part!r}; expected more paragraphs")
        windows = encode_windows(chosen, words, amounts.window_tokens)
        _write(part, chosen, windows, folder)
        figures[part] = _figures(chosen, len(questions), windows, file)
    return figures


def _write(part: str, questions: Sequence[Question], windows: Windows, folder: Path) -> None:
    (folder / part).mkdir(exist_ok=True)
    if part == TRAIN:
        save_examples(as_rows(windows, with_offsets=False), folder / part)
    else:
        save_asked(questions, windows, folder / part)


def _figures(questions: Sequence[Question], of: int, windows: Windows, file: SquadFile) -> dict[str, JsonValue]:
    part: Part = "train" if file.name.startswith("train") else "dev"
    return {
        "examples": len(questions),
        "of": of,
        "windows": len(windows),
        "unanswerable": sum(not question.answerable for question in questions),
        "questions_cut": windows.questions_cut,
        "answers_lost": windows.answers_lost,
        "answers_moved_in_file": file.answers_moved,
        "answers_misplaced_in_file": file.answers_lost,
        "file": file.name,
        "official_name": is_official_name(Path(file.name), file.version, part),
        "notes": [*file.notes],
    }
