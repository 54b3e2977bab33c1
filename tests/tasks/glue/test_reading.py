"""GLUE's files: every row is an example or counted, texts are unchanged, mistakes have file and line."""

import random
from pathlib import Path

import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task
from tests.factories.glue_folders import GLUE, TEXTS, write_table
from tests.factories.published_data import published
from tests.factories.task_files import files_of

# by task: rows of the registered train and dev files, without headers
COUNTS = {
    "cola": {"train": 8551, "dev": 1043, "test": 1063},
    "sst2": {"train": 67349, "dev": 872, "test": 1821},
    "mrpc": {"train": 3668, "dev": 408},
    "stsb": {"train": 5749, "dev": 1500, "test": 1379},
    "qqp": {"train": 20000, "dev": 3496},
    "mnli": {"train": 9999, "dev": 9815},
    "qnli": {"train": 9999, "dev": 5463, "test": 5463},
    "rte": {"train": 2490, "dev": 277, "test": 3000},
    "wnli": {"train": 635, "dev": 71, "test": 146},
}


@pytest.mark.parametrize("name", GLUE)
def test_the_published_files_have_the_documented_number_of_rows(name: str) -> None:
    files = files_of(name)
    located = FolderOfTasks(path=str(published(f"glue/{files.folder}"))).located(files)
    parts = {part: files.read(part, path, path.name) for part, path in located.items()}
    assert {part: len(read.examples) + read.left_out for part, read in parts.items()} == COUNTS[name]
    assert all(
        example.label is None and example.value is None for example in parts.get("test", parts["dev"]).examples
    ) == ("test" in parts)


@pytest.mark.parametrize("name", GLUE)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_texts_are_read_unchanged(name: str, end: str, tmp_path: Path) -> None:
    write_table(name, tmp_path / "dev.tsv", len(TEXTS), end)
    read = files_of(name).read("dev", tmp_path / "dev.tsv", "dev.tsv")
    assert [example.first for example in read.examples] == list(TEXTS)
    assert read.left_out == 0
    if find_task(name).form == "pair":
        assert [example.second for example in read.examples] == [*TEXTS[3:], *TEXTS[:3]]


@pytest.mark.parametrize("name", GLUE)
def test_every_invalid_row_is_reported_with_its_line(name: str, tmp_path: Path) -> None:
    file = tmp_path / "dev.tsv"
    write_table(name, file, 6)
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    first = len(lines) - 6
    answers = {"cola": 1, "mrpc": 0}
    cells = lines[first + 1].split("\t")
    cells[answers.get(name, -1)] = "maybe"
    lines[first + 1] = "\t".join(cells)
    lines[first + 4] = lines[first + 4].replace("\t", " ")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError) as refusal:
        files_of(name).read("dev", file, "CoLA/dev.tsv")
    told = [f"CoLA/dev.tsv:{first + 2}: "] + ([f"CoLA/dev.tsv:{first + 5}: "] if name != "qqp" else [])
    assert [line[: len(start)] for line, start in zip(refusal.value.lines, told, strict=True)] == told
    assert "'maybe'; expected" in "".join(refusal.value.lines)


def test_rows_without_a_gold_label_are_skipped_and_counted(tmp_path: Path) -> None:
    write_table("mnli", tmp_path / "dev.tsv", 5)
    text = (tmp_path / "dev.tsv").read_text(encoding="utf-8").replace("\tneutral\n", "\t-\n")
    (tmp_path / "dev.tsv").write_text(text, encoding="utf-8")
    read = files_of("mnli").read("dev", tmp_path / "dev.tsv", "dev.tsv")
    assert (len(read.examples), read.left_out) == (3, 2)
    assert [example.row for example in read.examples] == ["1", "2", "4"]


def test_a_missing_data_set_is_reported_with_its_files_and_origin(tmp_path: Path) -> None:
    (tmp_path / "RTE").mkdir()
    with pytest.raises(
        DataError, match=r"no train\.tsv and no dev\.tsv; expected: RTE/train\.tsv, RTE/dev\.tsv, from"
    ):
        FolderOfTasks(path=str(tmp_path)).located(files_of("rte"))
    with pytest.raises(DataError, match="no such folder"):
        FolderOfTasks(path=str(tmp_path / "nowhere")).located(files_of("rte"))


def test_one_folder_may_contain_the_collections(tmp_path: Path) -> None:
    for part in ("train", "dev"):
        write_table("rte", tmp_path / "glue" / "RTE" / f"{part}.tsv", 4)
    (tmp_path / "squad").mkdir()
    for name in ("train-v1.1.json", "dev-v1.1.json"):
        (tmp_path / "squad" / name).touch()
    data = FolderOfTasks(path=str(tmp_path))
    assert data.located(files_of("rte")) == FolderOfTasks(path=str(tmp_path / "glue")).located(files_of("rte"))
    assert data.located(files_of("squad_v1_1"))["dev"] == tmp_path / "squad" / "dev-v1.1.json"
    with pytest.raises(DataError, match=r"no train\.tsv and no dev\.tsv; expected: CoLA/train\.tsv"):
        data.located(files_of("cola"))


def test_the_identity_depends_on_contents_and_not_on_paths(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        for part in ("train", "dev"):
            write_table("rte", tmp_path / folder / "RTE" / f"{part}.tsv", 4)
    here, there = (FolderOfTasks(path=str(tmp_path / folder)) for folder in ("here", "there"))
    assert here.inputs(files_of("rte")) == there.inputs(files_of("rte"))
    write_table("rte", tmp_path / "there" / "RTE" / "dev.tsv", 5)
    assert here.inputs(files_of("rte")) != there.inputs(files_of("rte"))


def _mutated(data: bytes, random_: random.Random) -> bytes:
    for _ in range(random_.randint(1, 4)):
        place = random_.randrange(len(data) + 1)
        piece = random_.choice(
            [b"\t", b"\n", b"\r\n", b"\x00", b"\xff", b'"', b"-", b"", b"\xef\xbb\xbf", b"nan", b"1e9"]
        )
        data = data[:place] + piece + data[place + random_.choice([0, 0, 1, 5, 40]) :]
    return data


@pytest.mark.parametrize("name", GLUE)
def test_a_mutated_file_is_refused_with_messages_or_every_row_is_counted(name: str, tmp_path: Path) -> None:
    file = tmp_path / "dev.tsv"
    write_table(name, file, 12)
    whole = file.read_bytes()
    random_ = random.Random(name)
    refusals: list[DataError] = []
    for _ in range(230):  # more than 2,000 over all tasks
        file.write_bytes(_mutated(whole, random_))
        try:
            read = files_of(name).read("dev", file, "dev.tsv")
        except DataError as refusal:
            refusals.append(refusal)
            continue
        rows = file.read_bytes().count(b"\n") + (not file.read_bytes().endswith(b"\n")) - (name != "cola")
        assert len(read.examples) + read.left_out == rows
    assert 20 < len(refusals) < 230
    assert all(line.startswith("dev.tsv") for refusal in refusals for line in refusal.lines)
