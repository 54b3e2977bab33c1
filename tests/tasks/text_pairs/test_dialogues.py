"""Dialogues as pairs: the turns so far and the assistant's next one, or an utterance of a film and its answer."""

import json
import lzma
from pathlib import Path

from steeplechase.tasks.dataset_folder import FolderOfTasks
from tests.factories.published_data import published
from tests.factories.task_files import files_of


def written(folder: Path, turns: object) -> Path:
    for part in ("train", "dev"):
        (folder / "sgd" / part).mkdir(parents=True)
        for number in (1, 2):
            with lzma.open(folder / "sgd" / part / f"dialogues_00{number}.json.xz", "wt", encoding="utf-8") as file:
                json.dump([{"dialogue_id": f"{number}_0", "turns": turns}], file)
        (folder / "sgd" / part / "schema.json").write_text("[]")
    return folder


def turn(speaker: str, text: str) -> dict[str, str]:
    return {"speaker": speaker, "utterance": text}


def test_every_turn_of_the_assistant_is_a_target_of_all_files(tmp_path: Path) -> None:
    said = [turn("USER", "hello"), turn("SYSTEM", " yes? "), turn("USER", "a table"), turn("SYSTEM", "when?")]
    files, source = files_of("sgd_responses"), FolderOfTasks(path=str(written(tmp_path, said)))
    examples = source.parts(files)["train"].examples
    assert [(each.first, each.second, each.row) for each in examples[:2]] == [
        ("user: hello", "yes?", "1_0-1"),
        ("user: a table\nassistant: yes?\nuser: hello", "when?", "1_0-3"),
    ]
    assert len(examples) == 4
    inputs = source.inputs(files)
    assert isinstance(inputs, dict)
    assert {"train, dialogues_002.json.xz", "dev, dialogues_002.json.xz"} <= inputs.keys(), "all files are in the key"


def test_the_published_files_are_read() -> None:
    folder = published("dialogue/sgd/dev/dialogues_001.json.xz").parents[2]
    found = FolderOfTasks(path=str(folder)).parts(files_of("sgd_responses"))
    assert {part: len(each.examples) for part, each in found.items()} == {"train": 12160, "dev": 825}


SEPARATED = " +++$+++ "


def films(folder: Path, lines: list[str], conversations: list[str]) -> Path:
    """Write the Cornell layout in Latin-1, with lines of five fields and conversations of four."""
    (folder / "cornell").mkdir()
    for name, rows in (("movie_lines.txt", lines), ("movie_conversations.txt", conversations)):
        (folder / "cornell" / name).write_bytes("\n".join(rows).encode("iso-8859-1"))
    return folder


def line(number: int, text: str) -> str:
    return SEPARATED.join((f"L{number}", "u0", f"m{number // 10}", "BIANCA", text))


def conversation(film: int, *numbers: int) -> str:
    return SEPARATED.join(("u0", "u1", f"m{film}", str([f"L{number}" for number in numbers])))


def test_every_utterance_of_a_film_and_its_answer_are_a_pair_in_one_part(tmp_path: Path) -> None:
    said = ("Caf\xe9?", "no\x85 no", "", "why")  # 0x85 ends no line
    lines = [line(10 * film + k, text) for film in range(60) for k, text in enumerate(said)]
    talks = [conversation(film, *(10 * film + k for k in range(4))) for film in range(60)]
    files, source = files_of("cornell_responses"), FolderOfTasks(path=str(films(tmp_path, lines, talks)))
    parts = source.parts(files)
    assert {(each.first, each.second) for part in parts.values() for each in part.examples} == {said[:2]}
    assert sum(len(part.examples) for part in parts.values()) == 60
    assert sum(part.left_out for part in parts.values()) == 120  # an empty utterance is in two pairs
    of_part = {name: {each.source for each in part.examples} for name, part in parts.items()}
    assert of_part["train"].isdisjoint(of_part["dev"])
    assert 0 < len(of_part["dev"]) < 15
    inputs = source.inputs(files)
    assert isinstance(inputs, dict)
    assert any("movie_lines.txt" in part for part in inputs), "both files are in the key"
