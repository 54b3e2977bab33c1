"""Mistakes of a table: every one at once, with file, line, column, value, rule and suggestion."""

import json
import math
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from steeplechase.tasks.own_tasks.columns import TableColumns
from tests.factories.refused_tables import GOOD, LABELLED, refused

AS_VALUE = "; write whole numbers without .0, and name numbers to be predicted by columns.value"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "train.csv:1: the file is empty; expected a header with the columns review, stars"),
        ("review,stars\n", "train.csv:1: the file has no rows"),
        ("revew,stars\na,b\n", "train.csv:1: no column 'review'; found are 'revew', 'stars'. Did you mean 'revew'?"),
        ("review,stars,stars\na,b,c\n", "train.csv:1: 2 columns are named 'stars'; rename all but one"),
        ("review,stars\n ,yes\ngood,no\n", "train.csv:2: review: empty, expected a text"),
        ("review,stars\ngood,\nbad,no\n", "train.csv:2: stars: empty"),
        ("review,stars\ngood\nbad,no\n", "train.csv:2: 1 cells, expected 2: review, stars"),
        ("review,stars\ngood,yes,2\nbad,no\n", "train.csv:2: 3 cells, expected 2: review, stars"),
        ('review,stars\n"good,yes\n', "train.csv:2: a quotation mark is not closed or not doubled"),
        ("review,stars\na,yes\nb,yes\n", "train.csv:1: stars: all 2 rows have 'yes'; training needs two different"),
        (
            "review;stars\na;b\n",
            "train.csv:1: the header has one cell, 'review;stars'; cells are separated by commas here, not by ';'",
        ),
        ("review,stars\ra,b\r", "train.csv:1: a carriage return without a line feed outside quotes"),
        (
            "review,stars\ngood,yes\nbad,no\n",
            "train.csv: stars: all 1 rows that dev_share leaves in train have 'yes'; training needs two different",
        ),
        ("review,stars\nA,yes\na ,no\n", "train.csv: 1 different texts; dev_share leaves no train examples"),
    ],
)
def test_a_mistake_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    lines = refused(tmp_path, text)
    assert len(lines) == 1
    assert lines[0].startswith(message)


def test_bytes_that_are_no_text_are_named_by_line_and_offset(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, b"review,stars\ngood,yes\nb\xe4d,no\n")
    assert line.startswith("train.csv:3: byte 0xe4 at byte offset 23 is not UTF-8")
    (line,) = refused(tmp_path, "review,stars\n".encode("utf-16"))
    assert line.startswith("train.csv:1: ")
    (line,) = refused(tmp_path, b"PAR1nothing", suffix="parquet")
    assert line.startswith("train.parquet: damaged parquet")


def test_all_mistakes_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    lines = refused(
        tmp_path,
        'review,stars\n,yes\ngood,yes\n"two\nlines",\nbad,no\n',
        dev="review,stars\nfine,yess\nfine,no,2\n",
        test="text\nfine\n",
    )
    assert lines == [
        "test.csv:1: no column 'review'; found are 'text'.",
        "test.csv:1: no column 'stars'; found are 'text'.",
        "test.csv:1: is the first line no header? Then number the columns from 1, as in text: 1, label: 2",
        "train.csv:2: review: empty, expected a text",
        'train.csv:4: stars: empty; unlabelled: [""] leaves such rows out',
        "dev.csv:3: 3 cells, expected 2: review, stars",
        "dev.csv:2: stars: 'yess' is not a label of train.csv: no, yes. Did you mean 'yes'?",
        "test.csv: test is scored beside dev and needs labels; leave out `test` where it has none",
    ]


def test_a_label_of_a_row_with_another_mistake_is_known(tmp_path: Path) -> None:
    lines = refused(tmp_path, "review,stars\ngood,yes\n,no\n", dev="review,stars\nbad,no\n")
    assert lines == ["train.csv:3: review: empty, expected a text"]


def test_declared_labels_are_the_only_ones(tmp_path: Path) -> None:
    assert refused(tmp_path, GOOD + "fair,mixed\n", labels=("no", "yes")) == [
        "train.csv:4: stars: 'mixed' is not a label in fine_tuning.own_tasks: no, yes."
    ]


def test_identifiers_are_unique_in_a_file(tmp_path: Path) -> None:
    text = "review,stars,id\ngood,yes,7\nbad,no,8\nfair,no,7\n"
    assert refused(tmp_path, text, {**LABELLED, "id": "id"}) == ["train.csv:4: id: duplicate '7', first in line 2"]


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        *((value, "") for value in ("inf", "-Infinity", "1e999", "much", "1_000", "1,5,0")),
        ("1,5", "; decimals are written with a point"),
        *((value, f'; unlabelled: ["{value}"] leaves such rows out') for value in ("", "nan", "N/A")),
    ],
)
def test_a_value_is_a_finite_number(value: str, remedy: str, tmp_path: Path) -> None:
    cell = f'"{value}"' if "," in value else value
    lines = refused(tmp_path, f"review,how\ngood,{cell}\nbad,2\n", {"text": "review", "value": "how"})
    assert lines == [f"train.csv:2: how: {value!r}, expected a finite number{remedy}"]
    if "unlabelled" in remedy:
        (refusal,) = refused(
            tmp_path, f"review,how\ngood,{cell}\nbad,2\n", {"text": "review", "value": "how"}, unlabelled=(value,)
        )
        assert "expected a finite number" not in refusal


def test_f1_is_of_two_labels(tmp_path: Path) -> None:
    lines = refused(tmp_path, GOOD + "fair,mixed\n", metrics=("f1",))
    assert lines == ["train.csv:1: f1 is of two labels, and there are 3; use macro_f1"]


OPTIONS = {"text": "start", "options": ("x", "y"), "label": "right"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("He,runs,,0", "train.csv:2: y: empty, expected a text"),
        ("He,runs,flies,2", "train.csv:2: right: '2', expected one of 0, 1, x, y."),
        ("He,runs,flies,", "train.csv:2: right: empty"),  # `unlabelled` is not for options
        ("He,runs,runs ,0", "train.csv:2: right: the right option, 'runs', is repeated in another column"),
        ("He,runs,0", "train.csv:2: 3 cells, expected 4: start, x, y, right"),
    ],
)
def test_a_mistake_of_options_is_named(row: str, message: str, tmp_path: Path) -> None:
    (line,) = refused(tmp_path, f"start,x,y,right\n{row}\nShe,reads,sings,1\n", OPTIONS)
    assert line.startswith(message)


def test_a_column_that_is_named_like_another_option_is_refused() -> None:
    """With the columns 1 and 2, a label 1 would be the first option by name and the second by index."""
    named = TableColumns(text="start", options=("1", "2"), label="right")
    assert [violation.path for violation in named.violations()] == [("options", 0)]
    assert not [*TableColumns(text="start", options=("0", "1"), label="right").violations()]
    assert not [*TableColumns(text="start", options=("2019", "2020"), label="right").violations()]


ANSWERS = {"text": "q", "pair": "c", "answer": "a", "answer_start": "s"}


@pytest.mark.parametrize(
    ("answer", "start", "message"),
    [
        ("Anna", 12, "s: characters 12 to 16 are outside the 15 characters of c. It is at 5."),
        ("Anna", -1, "s: characters -1 to 3 are outside the 15 characters of c. It is at 5."),
        ("Eva", 14, "s: characters 14 to 17 are outside the 15 characters of c"),
        ("Anna", 4, "s: c has ' Ann' at 4, expected 'Anna'. It is at 5."),
        ("Eva", 5, "s: c has 'Ann' at 5, expected 'Eva'."),
        ("Anna", 1.5, "s: 1.5, expected a whole number"),
        ("Anna", 1e300, "s: 1e+300, expected a whole number"),
        ("Anna", math.nan, "s: nan, expected a finite number"),
    ],
)
def test_a_span_outside_its_text_is_named(answer: str, start: float, message: str, tmp_path: Path) -> None:
    text = json.dumps({"q": "Who?", "c": "Then Anna sang.", "a": answer, "s": start}) + "\n"
    assert refused(tmp_path, text, ANSWERS, suffix="jsonl") == [f"train.jsonl:1: {message}"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"w": "Anna sings", "t": "B-PER"}, "t: 1 tags for 2 words"),
        ({"w": [], "t": []}, "w: empty, expected words"),
        ({"w": ["a b"], "t": ["O"]}, "w: a word contains a space"),
        ({"w": 3, "t": ["O"]}, "w: 3, expected words, as a list or separated by spaces"),
    ],
)
def test_a_mistake_of_tags_is_named(row: dict[str, object], message: str, tmp_path: Path) -> None:
    text = json.dumps(row) + "\n" + json.dumps({"w": "Oslo sings", "t": "B-LOC O"}) + "\n"
    lines = refused(tmp_path, text, {"text": "w", "tags": "t"}, suffix="jsonl")
    assert lines[0] == f"train.jsonl:1: {message}"
    assert len(lines) == len({line.partition(": ")[2][0] for line in lines})  # a cell has one mistake


@pytest.mark.parametrize("again", ['"stars": "no"', '"st\\u0061rs": "no"'])
def test_a_field_that_an_object_has_twice_is_refused(again: str, tmp_path: Path) -> None:
    text = f'{{"review": "good", "stars": "yes", {again}}}\n' + '{"review": "bad", "stars": "no"}\n'
    assert refused(tmp_path, text, suffix="jsonl") == ["train.jsonl:1: 2 fields are named 'stars'"]


def test_a_line_that_is_no_object_or_lacks_a_field_is_named(tmp_path: Path) -> None:
    text = '{"review": "good", "stars": "yes"}\n{\n\n[]\n{"review": "x", "star": "no"}\n{"review": 3, "stars": 1.5}\n'
    lines = refused(tmp_path, text, suffix="jsonl")
    assert lines[0].startswith("train.jsonl:2: not JSON")
    assert lines[1:] == [
        "train.jsonl:4: not a JSON object",
        "train.jsonl:5: no field 'stars'. Did you mean 'star'?",
        "train.jsonl:6: review: 3, expected a text",
        f"train.jsonl:6: stars: 1.5, expected a text or a whole number{AS_VALUE}",
    ]


@pytest.mark.parametrize("value", ["null", "NaN", '""', '" "'])
def test_a_row_without_a_label_says_how_to_leave_it_out(value: str, tmp_path: Path) -> None:
    text = f'{{"review": "good", "stars": "yes"}}\n{{"review": "bad", "stars": {value}}}\n'
    (line,) = refused(tmp_path, text, suffix="jsonl")
    assert line.startswith("train.jsonl:2: stars: ")
    written = '"nan"' if value == "NaN" else '""'
    assert line.endswith(f"; unlabelled: [{written}] leaves such rows out")


def test_a_file_that_is_one_json_array_is_one_mistake(tmp_path: Path) -> None:
    text = json.dumps([{"review": "good", "stars": "yes"}, {"review": "bad", "stars": "no"}], indent=1)
    (line,) = refused(tmp_path, text, suffix="jsonl")
    assert line == "train.jsonl:1: a JSON array, expected one object a line, as jq -c '.[]' FILE writes them"


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


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    rows = '{"review": "\\ud83d", "stars": "a"}\n{"review": "\\ud83d\\ude00", "stars": "\\udc00"}\n'
    assert refused(tmp_path, rows, suffix="jsonl") == [
        "train.jsonl:1: not JSON: \\ud83d is half of a surrogate pair and no character",
        "train.jsonl:2: not JSON: \\udc00 is half of a surrogate pair and no character",
    ]


def test_a_value_is_within_the_declared_range(tmp_path: Path) -> None:
    lines = refused(
        tmp_path,
        "review,how\ngood,5\nbad,-1\n",
        {"text": "review", "value": "how"},
        dev="review,how\nfair,9\n",
        value_range=(0.0, 5.0),
    )
    assert lines == [
        "train.csv:3: how: -1 is outside value_range, 0 to 5",
        "dev.csv:2: how: 9 is outside value_range, 0 to 5",
    ]


def test_metrics_of_entities_read_tags_of_entities(tmp_path: Path) -> None:
    def written(*tags: str) -> str:
        return "".join(json.dumps({"w": f"w{number}", "t": tag}) + "\n" for number, tag in enumerate(tags))

    columns = {"text": "w", "tags": "t"}
    (line,) = refused(tmp_path, written("NOUN", "VERB", "O"), columns, suffix="jsonl")
    assert line == (
        "train.jsonl:1: t: entity_f1 reads the tags O, B-TYPE and I-TYPE; 'NOUN', 'VERB' are none of them. "
        "Convert them, or write metrics: [accuracy]"
    )
    (line,) = refused(tmp_path, written("B-X", "E-X", "O"), columns, suffix="jsonl", metrics=("entity_recall",))
    assert line.startswith("train.jsonl:1: t: entity_recall reads the tags O, B-TYPE and I-TYPE; 'E-X' is none")
