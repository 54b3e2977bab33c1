"""Mistakes of a table: each gives the messages beside it in `mistakes.txt`; what may be one is warned of."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from runners.task_sources import table_notes, table_warnings
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.own_tasks.columns import TableColumns
from steeplechase.tasks.own_tasks.resolution import resolve
from steeplechase.tasks.own_tasks.table import TableTask

LABELLED = {"text": "review", "label": "stars"}
GOOD = "review,stars\ngood,yes\nbad,no\n"
TABLE = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8")
CASES = {
    name: re.split(r"^-- (\w\S*)(?: (.*))?\n", rest, flags=re.MULTILINE)[1:]
    for name, _, rest in (case.partition("\n") for case in f"\n{TABLE}".split("\n== ")[1:])
}
"""By name, the parts of a case: heading, the rest of its line, content."""


def refused(folder: Path, train: bytes | str, suffix: str = "csv", **declared: Any) -> list[str]:
    """Return the lines of the refusal of a train file, with the file's name for its path, without its setting."""
    file = folder / f"train.{suffix}"
    file.write_bytes(train if isinstance(train, bytes) else train.encode())
    parts = {path.stem: str(path) for path in folder.iterdir() if path.stem in ("dev", "test")}
    share = {} if "dev" in parts else {"dev_share": 0.5}
    document = {"kind": "table", "columns": LABELLED, "train": str(file), **parts, **share, **declared}
    task = FineTuning.model_validate({"own_tasks": {"r": document}}, strict=False).own_tasks["r"]
    assert isinstance(task, TableTask)
    before = sorted(path.read_bytes() for path in folder.iterdir())
    with pytest.raises(DataError) as refusal:
        resolve("r", task)
    assert sorted(path.read_bytes() for path in folder.iterdir()) == before
    lines = (re.sub(r"^fine_tuning\.own_tasks\.r\.columns\.\w+: ", "", line) for line in refusal.value.lines)
    return [line.replace(f"{folder}/", "") for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_gives_the_messages_of_the_table(name: str, tmp_path: Path) -> None:
    """A message that ends in … begins so: its rest is Python's own."""
    contents = {heading: rest or content for heading, rest, content in zip(*[iter(CASES[name])] * 3, strict=True)}
    expected, declared = contents.pop("messages").splitlines(), json.loads(contents.pop("declared", "{}"))
    for file, content in contents.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    (train,) = (file for file in contents if file.startswith("train"))
    found = refused(tmp_path, contents[train], train.partition(".")[2], **declared)
    assert len(found) == len(expected)
    for line, told in zip(found, expected, strict=True):
        assert line == told or (told.endswith("…") and line.startswith(told[:-1]))


def test_a_carriage_return_alone_ends_no_line(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "review,stars\ra,b\r")
    assert line.startswith("train.csv:1: a carriage return without a line feed outside quotes")


def test_bytes_that_are_no_text_are_named_by_line_and_offset(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, b"review,stars\ngood,yes\nb\xe4d,no\n")
    assert line.startswith("train.csv:3: byte 0xe4 at byte offset 23 is not UTF-8")
    (line,) = refused(tmp_path, "review,stars\n".encode("utf-16"))
    assert line.startswith("train.csv:1: ")
    (line,) = refused(tmp_path, b"PAR1nothing", suffix="parquet")
    assert line.startswith("train.parquet: damaged parquet")


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        *((value, "") for value in ("inf", "-Infinity", "1e999", "much", "1_000", "1,5,0")),
        ("1,5", "; decimals are written with a point"),
        *((value, f'; unlabelled: ["{value}"] leaves such rows out') for value in ("", "nan", "N/A")),
    ],
)
def test_a_value_is_a_finite_number(value: str, remedy: str, tmp_path: Path) -> None:
    cell, columns = f'"{value}"' if "," in value else value, {"text": "review", "value": "how"}
    text = f"review,how\ngood,{cell}\nbad,2\n"
    assert refused(tmp_path, text, columns=columns) == [
        f"train.csv:2: how: {value!r}, expected a finite number{remedy}"
    ]
    if "unlabelled" in remedy:
        (refusal,) = refused(tmp_path, text, columns=columns, unlabelled=(value,))
        assert "expected a finite number" not in refusal


def test_a_column_that_is_named_like_another_option_is_refused() -> None:
    """With the columns 1 and 2, a label 1 would be the first option by name and the second by index."""
    named = TableColumns(text="start", options=("1", "2"), label="right")
    assert [violation.path for violation in named.violations()] == [("options", 0)]
    assert not [*TableColumns(text="start", options=("0", "1"), label="right").violations()]
    assert not [*TableColumns(text="start", options=("2019", "2020"), label="right").violations()]


def test_the_columns_of_a_parquet_file_are_checked(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"reviews": ["a"], "stars": [None]}), tmp_path / "made.parquet")
    (line,) = refused(tmp_path, (tmp_path / "made.parquet").read_bytes(), suffix="parquet")
    assert line == "train.parquet:1: no column 'review'; found are 'reviews', 'stars'. Did you mean 'reviews'?"
    pyarrow.parquet.write_table(
        pyarrow.table({"review": ["a", None], "stars": [None, "x"]}), tmp_path / "made.parquet"
    )
    lines = refused(tmp_path, (tmp_path / "made.parquet").read_bytes(), suffix="parquet")
    assert lines == [
        'train.parquet:1: stars: null; unlabelled: [""] leaves such rows out',
        "train.parquet:2: review: None, expected a text",
    ]


def test_the_first_twenty_mistakes_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    (same,) = refused(tmp_path, "review,stars\n" + ",yes\n" * 25)
    assert same == "train.csv:2: review: empty, expected a text (also in lines 3, 4, 5, 6 and 20 more)"
    lines = refused(tmp_path, "review,stars\n" + "".join(f"text{'x,' * count},yes\n" for count in range(1, 26)))
    assert len(lines) == 21
    assert lines[-1] == "train.csv: 5 more mistakes, 25 in total"


CHINESE, ENGLISH, RUSSIAN = "他们喜欢书", "a book", "книга"


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
            json.dumps({"x": f"text {place}", "y": label}) + "\n"
            for place, label in enumerate(["a\nb", "\x1b[31m, 1"])
        )
    )
    both = dict.fromkeys(("train", "dev"), str(tmp_path / "r.jsonl"))
    task = TableTask.model_validate({"kind": "table", "columns": {"text": "x", "label": "y"}, **both}, strict=False)
    (line,) = table_notes(FineTuning(own_tasks={"r": task}, tasks=("r",)))
    assert line == "r: train 2, dev 2 examples; labels in train: '\\x1b[31m, 1' 1, 'a\\nb' 1"
