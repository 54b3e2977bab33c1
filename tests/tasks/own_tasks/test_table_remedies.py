"""What the message of a mistake in a table advises: it has to be possible, and about the place of the mistake."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from runners.task_sources import table_notes, table_warnings
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.own_tasks.resolution import resolve
from steeplechase.tasks.own_tasks.table import TableTask
from tests.factories.refused_tables import GOOD, LABELLED, refused

UNLABELLED_TEST = "test.csv: test is scored beside dev and needs labels; leave out `test` where it has none"


@pytest.mark.parametrize("test", ["review\nfine\n", "review,stars\nfine,\n", "review,stars\nfine,-1\n"])
def test_a_test_file_without_labels_can_be_left_out(test: str, tmp_path: Path) -> None:
    lines = refused(tmp_path, GOOD, dev=GOOD, test=test, unlabelled=("-1",))
    assert len(lines) == 2
    assert lines[-1] == UNLABELLED_TEST


def test_a_train_file_without_rows_says_nothing_of_the_labels_of_dev(tmp_path: Path) -> None:
    assert refused(tmp_path, "review,stars\n", dev=GOOD) == ["train.csv:1: the file has no rows"]


def test_a_label_that_looks_like_a_known_one_is_told_by_its_characters(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "review,stars\na,caf\u00e9\nb,no\n", dev="review,stars\nc,cafe\u0301\n")
    assert line.endswith(
        "caf\u00e9, no. Here it is 'cafe\\u0301', there 'caf\\xe9': other characters that look the same."
    )


def test_unlabelled_is_not_advised_where_it_cannot_be_written(tmp_path: Path) -> None:
    choice = {"text": "review", "options": ("x", "y"), "label": "right"}
    assert refused(tmp_path, "review,x,y,right\nHe,runs,flies,\nHe,sits,lies,0\n", choice) == [
        "train.csv:2: right: empty"
    ]


def test_bytes_of_parquet_are_one_line(tmp_path: Path) -> None:
    table = pyarrow.table({"review": [b"one", b"two", b"three"], "stars": ["yes", "no", "yes"]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    content = (tmp_path / "r.parquet").read_bytes()
    (tmp_path / "r.parquet").unlink()
    assert refused(tmp_path, content, suffix="parquet") == [
        "train.parquet:1: review: bytes, expected a text (also in lines 2, 3)"
    ]


def test_a_folder_and_a_link_to_nothing_are_told_from_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "dev.csv").mkdir()
    (tmp_path / "test.csv").symlink_to(tmp_path / "gone.csv")
    train = tmp_path / "train.csv"
    train.write_text(GOOD)
    document = {"train": str(train), "dev": str(tmp_path / "dev.csv"), "test": str(tmp_path / "test.csv")}
    task = TableTask.model_validate({"kind": "table", "columns": LABELLED, **document}, strict=False)
    with pytest.raises(DataError) as refusal:
        resolve("r", task)
    assert [line.rpartition(": ")[2] for line in refusal.value.lines] == [
        "a folder, not a file",
        "a symbolic link that leads to no file",
    ]


CHINESE, ENGLISH, RUSSIAN = "他们喜欢书", "a book", "книга"


@pytest.mark.parametrize(
    ("targets", "metrics", "warned"),
    [
        (
            [CHINESE, ENGLISH],
            ("rouge1", "bleu", "chrf"),
            {"rouge1: 1 of 2 dev targets have", "bleu: 1 of 2 dev targets are"},
        ),
        ([RUSSIAN, RUSSIAN], ("rouge1", "rougeL", "bleu"), {"rouge1, rougeL: 2 of 2 dev targets have"}),
        ([ENGLISH, "7"], ("rougeL", "bleu"), set[str]()),
        ([CHINESE, RUSSIAN], ("exact_match", "chrf"), set[str]()),
    ],
)
def test_a_metric_that_cannot_count_the_words_of_a_script_is_warned_of(
    targets: list[str], metrics: tuple[str, ...], warned: set[str], tmp_path: Path
) -> None:
    rows = [{"s": f"source {place}", "t": target} for place, target in enumerate(targets)]
    found = warnings(tmp_path, rows, {"text": "s", "target": "t"}, metrics=metrics)
    assert len(found) == len(warned)
    assert all(any(line.startswith(start) for line in found) for start in warned)


def test_f1_of_chinese_answers_is_warned_of(tmp_path: Path) -> None:
    rows = [{"q": "谁?", "c": f"{CHINESE}{place}", "a": CHINESE, "s": 0} for place in range(2)]
    columns = {"text": "q", "pair": "c", "answer": "a", "answer_start": "s"}
    (line,) = warnings(tmp_path, rows, columns)
    assert line == (
        "f1: 2 of 2 dev answers are in a script without spaces between words, and count as single words; exact_match "
        "does not count words"
    )


def warnings(folder: Path, rows: list[dict[str, Any]], columns: dict[str, str], **more: Any) -> list[str]:
    """Return the warnings of a table that is train and dev, but that of this."""
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    both = dict.fromkeys(("train", "dev"), str(folder / "r.jsonl"))
    task = TableTask.model_validate({"kind": "table", "columns": columns, **both, **more}, strict=False)
    lines = table_warnings(FineTuning(own_tasks={"r": task}, tasks=("r",)))
    return [line.removeprefix("fine_tuning.own_tasks.r: ") for line in lines if "train example" not in line]


def test_the_labels_of_a_plan_are_one_line_without_control_characters(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(
        "".join(
            json.dumps({"x": f"text {place}", "y": label}) + "\n" for place, label in enumerate(["a\nb", "\x1b[31m"])
        )
    )
    both = dict.fromkeys(("train", "dev"), str(tmp_path / "r.jsonl"))
    task = TableTask.model_validate({"kind": "table", "columns": {"text": "x", "label": "y"}, **both}, strict=False)
    (line,) = table_notes(FineTuning(own_tasks={"r": task}, tasks=("r",)))
    assert line == "r: train 2, dev 2 examples; labels in train: \\x1b[31m 1, a\\nb 1"
