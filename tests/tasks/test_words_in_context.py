"""WiC: the official two-file layout, its mistakes, and that the labels are part of the files' identity."""

from pathlib import Path

import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.downstream.wic import labels_beside, read
from steeplechase.tasks.labelled.task import Examples
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores
from tests.factories.published_data import published

ROWS = (
    "board\tN\t2-2\tRoom and board .\tHe nailed boards across the windows .\n"
    "hook\tV\t0-1\tHook a fish .\tHe hooked .\n"
)
FILES = find_task("wic").files


def written(folder: Path, part: str = "dev", rows: str = ROWS, labels: str | None = "F\nT\n") -> Path:
    """Write a part in the official layout and return its file."""
    (folder / part).mkdir(exist_ok=True)
    path = folder / part / f"{part}.data.txt"
    path.write_text(rows, encoding="utf-8")
    if labels is not None:
        labels_beside(path).write_text(labels)
    return path


def test_a_row_is_a_pair_with_the_word_marked_in_both_sentences(tmp_path: Path) -> None:
    first, second = read("dev", written(tmp_path), "WiC/dev.data.txt").examples
    assert (first.first, first.second) == ('Room and " board " .', 'He nailed " boards " across the windows .')
    assert (second.first, second.second) == ('" Hook " a fish .', 'He " hooked " .')
    assert [each.label for each in (first, second)] == [0, 1]


def test_a_test_part_without_labels_is_predicted_only(tmp_path: Path) -> None:
    path = written(tmp_path, "test", labels=None)
    assert [each.label for each in read("test", path, path.name).examples] == [None, None]


def test_labels_are_needed_and_part_of_the_identity(tmp_path: Path) -> None:
    assert FILES is not None
    folder = FolderOfTasks(path=str(tmp_path))
    written(tmp_path, "train")
    path = written(tmp_path)
    before = folder.inputs(FILES)
    labels_beside(path).write_text("T\nT\n")
    assert isinstance(before, dict)
    assert [*before] == ["train", "dev", "train, train.gold.txt", "dev, dev.gold.txt"]
    assert folder.inputs(FILES) != before
    labels_beside(path).unlink()
    with pytest.raises(DataError, match=r"no dev\.gold\.txt; expected: WiC/train/train\.data\.txt"):
        folder.located(FILES)


def test_the_published_parts_are_balanced_and_words_alone_do_not_tell() -> None:
    parts = {part: published(f"supersense/WiC/{part}/{part}.data.txt") for part in ("train", "dev", "test")}
    train, dev, test = (read(part, path, path.name).examples for part, path in parts.items())
    assert [len(each) for each in (train, dev, test)] == [5428, 638, 1400]
    assert all(sum(each.label or 0 for each in part) == len(part) / 2 for part in (train, dev, test))
    scores = bag_of_words_scores(find_task("wic"), Examples(train, dev), 1)
    assert scores is not None
    assert 40 < scores["accuracy"] < 62
