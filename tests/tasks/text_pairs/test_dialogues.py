"""Dialogues as pairs of the turns so far and the next turn of the assistant."""

import json
import lzma
from pathlib import Path

import pytest

from foundation.errors import DataError
from tasks.dataset_folder import FolderOfTasks
from tasks.downstream import find_task
from tests.factories.published_data import published


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
    files, source = find_task("sgd_responses").files, FolderOfTasks(path=str(written(tmp_path, said)))
    assert files is not None
    examples = source.parts(files)["train"].examples
    assert [(each.first, each.second, each.row) for each in examples[:2]] == [
        ("user: hello", "yes?", "1_0-1"),
        ("user: a table\nassistant: yes?\nuser: hello", "when?", "1_0-3"),
    ]
    assert len(examples) == 4
    inputs = source.inputs(files)
    assert isinstance(inputs, dict)
    assert {"train, dialogues_002.json.xz", "dev, dialogues_002.json.xz"} <= inputs.keys(), "all files are in the key"


@pytest.mark.parametrize("turns", [[turn("OTHER", "x")], [{"speaker": "USER"}], "x", [turn("USER", " ")]])
def test_another_layout_is_refused_with_every_dialogue(tmp_path: Path, turns: object) -> None:
    files, source = find_task("sgd_responses").files, FolderOfTasks(path=str(written(tmp_path, turns)))
    assert files is not None
    with pytest.raises(DataError, match=r'dialogues_001\.json\.xz, dialogue 1: expected "turns".*\n?.*dialogues_002'):
        source.parts(files)


def test_the_published_files_are_read() -> None:
    folder = published("dialogue/sgd/dev/dialogues_001.json.xz").parents[2]
    files = find_task("sgd_responses").files
    assert files is not None
    found = FolderOfTasks(path=str(folder)).parts(files)
    assert {part: len(each.examples) for part, each in found.items()} == {"train": 12160, "dev": 825}
