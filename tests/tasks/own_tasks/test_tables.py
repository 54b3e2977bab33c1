"""Tables of a user: every format gives the same examples; splits; declarations that contradict themselves."""

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.stages.examples import ExamplesStage
from runners.stages.stage import Stage
from runners.task_sources import limited, table_warnings, task_source
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.contracts.small_candidates import WORDS
from steeplechase.tasks.labelled.encoding import encode_examples, save_examples
from steeplechase.tasks.labelled.forms import encode_words, save_words
from steeplechase.tasks.labelled.task import Part
from steeplechase.tasks.own_tasks.known_labels import with_label_names
from steeplechase.tasks.own_tasks.resolution import resolve
from steeplechase.tasks.own_tasks.table import TableTask
from tests.factories.table_files import FORMATS, Rows, write_csv, write_jsonl, write_parquet, write_tsv

REVIEWS: Rows = [
    {"id": "a", "review": 'a "good" film, really', "stars": "positive"},
    {"id": "b", "review": "dull; ö and 中文", "stars": "negative"},
    {"id": "c", "review": "it's fine", "stars": "positive"},
]


def declared(train: Path, **changes: Any) -> TableTask:
    """Return a declaration as a file has it."""
    document = {"kind": "table", "train": str(train), "columns": {"text": "review", "label": "stars"}, **changes}
    if not document.keys() & {"dev", "dev_share"}:
        document["dev"] = str(train)
    tuning = FineTuning.model_validate({"own_tasks": {"reviews": document}, "tasks": ("reviews",)}, strict=False)
    task = tuning.own_tasks["reviews"]
    assert isinstance(task, TableTask)
    return task


def parts(task: TableTask) -> dict[str, Part]:
    """Return the examples of every part, as the stage of examples reads them."""
    source = task_source(FineTuning(own_tasks={"reviews": task}), "reviews")
    assert source.data is not None
    assert source.task.files is not None
    return source.data.parts(source.task.files)


def test_decimal_numbers_of_parquet_are_values(tmp_path: Path) -> None:
    numbers = [Decimal("1.50"), Decimal("-2.25"), Decimal("3")]
    table = pyarrow.table({"review": [row["review"] for row in REVIEWS], "how": numbers})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    task = declared(tmp_path / "r.parquet", columns={"text": "review", "value": "how"})
    assert [example.value for example in parts(task)["dev"].examples] == [1.5, -2.25, 3.0]
    assert resolve("reviews", task).format.value_range == (-2.25, 3.0)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_examples(name: str, tmp_path: Path) -> None:
    path = FORMATS[name](tmp_path / name, REVIEWS)
    columns = {"text": "review", "label": "stars", "id": "id"}
    examples = parts(declared(path, columns=columns))["dev"].examples
    assert [example.first for example in examples] == [row["review"] for row in REVIEWS]
    assert [example.label for example in examples] == [1, 0, 1]  # negative, positive
    assert [example.row for example in examples] == ["a", "b", "c"]


@pytest.mark.parametrize(("end", "bom"), [("\n", True), ("\r\n", False), ("\r\n", True)])
def test_line_ends_and_a_byte_order_mark_change_nothing(end: str, bom: bool, tmp_path: Path) -> None:
    plain = parts(declared(write_csv(tmp_path / "a.csv", REVIEWS)))["dev"].examples
    other = parts(declared(write_csv(tmp_path / "b.csv", REVIEWS, end, bom)))["dev"].examples
    assert [(one.first, one.label) for one in plain] == [(one.first, one.label) for one in other]


CELLS = st.text(st.sampled_from("ab \",;\n\t'ö"), min_size=1, max_size=9).filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(CELLS, st.booleans()), min_size=1, max_size=6))
def test_every_text_that_csv_can_quote_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, bool]]
) -> None:
    table = [{"review": text, "stars": str(flag)} for text, flag in [*rows, ("end", True), ("end", False)]]
    path = write_csv(tmp_path_factory.mktemp("tables") / "r.csv", table)
    assert [example.first for example in parts(declared(path))["train"].examples] == [row["review"] for row in table]


def test_labels_are_texts_whole_numbers_or_truth_values(tmp_path: Path) -> None:
    rows = [{"review": f"r{number}", "stars": stars} for number, stars in enumerate([10, 2, True, "x"])]
    task = resolve("reviews", declared(write_jsonl(tmp_path / "r.jsonl", rows))).format
    assert task.labels == ("10", "2", "true", "x")
    numbers = [{"review": f"r{number}", "stars": stars} for number, stars in enumerate([10, 2, -1])]
    assert resolve("reviews", declared(write_jsonl(tmp_path / "n.jsonl", numbers))).format.labels == ("-1", "2", "10")
    texts = [{"review": f"r{number}", "stars": stars} for number, stars in enumerate(["1", "01", "--5"])]
    assert resolve("reviews", declared(write_jsonl(tmp_path / "t.jsonl", texts))).format.labels == ("--5", "01", "1")


def test_a_pair_with_values_is_a_regression_in_the_range_of_train(tmp_path: Path) -> None:
    rows = [{"one": f"a{number}", "two": f"b{number}", "how": number / 2} for number in range(5)]
    columns = {"text": "one", "pair": "two", "value": "how"}
    source = task_source(
        FineTuning(own_tasks={"reviews": declared(write_csv(tmp_path / "r.csv", rows), columns=columns)}), "reviews"
    )
    assert (source.task.form, source.task.metrics) == ("pair", ("spearman", "pearson"))
    assert (source.task.value_range, source.task.outputs) == ((0.0, 2.0), 1)
    assert source.data is not None
    assert source.task.files is not None
    assert [each.value for each in source.data.parts(source.task.files)["dev"].examples] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_options_name_the_right_one_by_index_or_by_column(tmp_path: Path) -> None:
    rows = [
        {"start": "He", "x": "runs", "y": "flies", "right": "1"},
        {"start": "She", "x": "sings", "y": "reads", "right": "x"},
    ]
    columns = {"text": "start", "options": ("x", "y"), "label": "right"}
    task = declared(write_csv(tmp_path / "r.csv", rows), columns=columns)
    examples = parts(task)["dev"].examples
    assert [(one.label, one.endings) for one in examples] == [(1, ("runs", "flies")), (0, ("sings", "reads"))]
    assert task.task("reviews").sequences_per_example == 2


def test_tags_are_lists_or_texts_and_have_their_order(tmp_path: Path) -> None:
    rows = [{"words": "Anna sings", "tags": "B-PER O"}, {"words": "Oslo", "tags": "B-LOC"}]
    listed = [{name: text.split() for name, text in row.items()} for row in rows]
    columns = {"text": "words", "tags": "tags"}
    found = []
    for path in (write_tsv(tmp_path / "r.tsv", rows), write_parquet(tmp_path / "r.parquet", listed)):
        task = declared(path, columns=columns)
        assert resolve("reviews", task).format.labels == ("O", "B-LOC", "B-PER")
        found.append([(one.first, one.tags) for one in parts(task)["dev"].examples])
    assert found[0] == found[1] == [("Anna sings", (2, 0)), ("Oslo", (1,))]


def test_an_answer_is_a_span_of_its_context(tmp_path: Path) -> None:
    rows = [{"q": "Who?", "c": "Then Anna sang.", "a": "Anna", "s": 5}]
    columns = {"text": "q", "pair": "c", "answer": "a", "answer_start": "s"}
    (example,) = parts(declared(write_csv(tmp_path / "r.csv", rows), columns=columns))["dev"].examples
    assert (example.answer, example.answer_text) == ((5, 9), "Anna")


@given(st.lists(st.integers(0, 30), min_size=4, max_size=40, unique=False), st.floats(0.1, 0.6), st.randoms())
def test_a_dev_share_keeps_equal_texts_in_one_part_whatever_the_order(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], share: float, random: Any
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    numbers = [*numbers, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]
    rows = [{"review": f"text {number}", "stars": str(position % 2)} for position, number in enumerate(numbers)]
    divided = parts(declared(write_csv(folder / "r.csv", rows), dev_share=share))
    train, dev = ({one.first for one in divided[part].examples} for part in ("train", "dev"))
    assert not train & dev
    assert len(divided["train"].examples) + len(divided["dev"].examples) == len(rows)
    room = math.ceil(share * len(rows)) - len(divided["dev"].examples)
    assert room >= 0
    assert all(count > room for count in Counter(one.first for one in divided["train"].examples).values())
    random.shuffle(rows)
    shuffled = parts(declared(write_csv(folder / "s.csv", rows), dev_share=share))
    assert {one.first for one in shuffled["dev"].examples} == dev


def examples_key(task: TableTask) -> str:
    source = task_source(FineTuning(own_tasks={"reviews": task}), "reviews")
    assert source.data is not None
    assert source.task.files is not None
    declaration = ExamplesStage(
        task="reviews",
        task_version=1,
        train_examples=limited(source, "train", None),
        dev_examples=limited(source, "dev", None),
        sequence_length=16,
        data=source.data,
        read=source.data.inputs(source.task.files),
        own_task=source.own_task,
    )
    assert ExamplesStage.model_validate_json(declaration.model_dump_json()) == declaration
    return Stage(declaration).key


def test_the_key_is_of_content_and_columns_and_never_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here = write_csv(tmp_path / "r.csv", REVIEWS)
    there = write_csv(tmp_path / "other" / "s.csv", REVIEWS)
    key = examples_key(declared(here))
    assert examples_key(declared(there)) == key
    others = [
        declared(write_csv(tmp_path / "t.csv", [*REVIEWS, {"id": "d", "review": "new", "stars": "negative"}])),
        declared(here, columns={"text": "id", "label": "stars"}),
        declared(here, metrics=("matthews",)),
        declared(here, labels=("positive", "negative")),
        declared(here, columns={"text": "review", "label": "stars", "id": "id"}),
    ]
    assert len({key, *map(examples_key, others)}) == len(others) + 1


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    task = declared(write_csv(path, REVIEWS))
    assert resolve("reviews", task).counts["train"] == 3
    write_csv(path, REVIEWS[:2])
    assert resolve("reviews", task).counts["train"] == 2


TAGGED: Rows = [
    {"review": "we saw Rome", "stars": "O O B-PLACE"},
    {"review": "Ann waits", "stars": "B-NAME O"},
    {"review": "it rains", "stars": "O O"},
]


@pytest.mark.parametrize(
    ("target", "rows", "names"),
    [("label", REVIEWS, ("negative", "positive")), ("tags", TAGGED, ("O", "B-NAME", "B-PLACE"))],
)
def test_labels_have_the_names_of_the_train_file_while_it_has_the_examples_of_a_stage(
    target: str, rows: Rows, names: tuple[str, ...], tmp_path: Path
) -> None:
    task = declared(write_csv(tmp_path / "rows.csv", rows), columns={"text": "review", target: "stars"})
    for part, read in parts(task).items():
        (tmp_path / part).mkdir()
        if target == "tags":
            save_words(encode_words(read.examples, WORDS, 16), tmp_path / part)
        else:
            save_examples(encode_examples(read.examples, "single", WORDS, 16), tmp_path / part)
    plain = task.task("reviews")
    assert with_label_names(plain, task, tmp_path).labels == names
    write_csv(tmp_path / "rows.csv", rows[1:])
    assert with_label_names(plain, task, tmp_path) == plain
    (tmp_path / "rows.csv").unlink()
    assert with_label_names(plain, task, tmp_path) == plain


def test_dev_examples_that_are_in_train_are_counted(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "r.csv", REVIEWS)
    dev = write_csv(tmp_path / "d.csv", [{**REVIEWS[0], "review": "It's FINE "}, {**REVIEWS[1], "review": "new"}])
    tuning = FineTuning(own_tasks={"reviews": declared(train, dev=str(dev))}, tasks=("reviews",))
    assert list(table_warnings(tuning)) == [
        "fine_tuning.own_tasks.reviews: 1 of 2 dev examples have the texts of a train example"
    ]


def test_labels_that_differ_in_their_writing_alone_are_warned_of(tmp_path: Path) -> None:
    stars = ("positive", "Positive", "caf\u00e9", "cafe\u0301", "negative", "negative\u200b", "1", "1.0")
    rows = [{"id": str(place), "review": f"text {place}", "stars": label} for place, label in enumerate(stars * 3)]
    task = declared(write_csv(tmp_path / "r.csv", rows))
    lines = table_warnings(FineTuning(own_tasks={"reviews": task}, tasks=("reviews",)))
    (line,) = (line for line in lines if "Unicode form" in line)
    assert line == (
        "fine_tuning.own_tasks.reviews: labels that differ in case, Unicode form, invisible characters or the form "
        "of a number alone are different labels: '1', '1.0'; 'Positive', 'positive'; 'cafe\\u0301', 'caf\\xe9'; "
        "'negative', 'negative\\u200b'"
    )


def test_a_text_that_is_most_of_a_table_is_in_train(tmp_path: Path) -> None:
    rows = [{"review": "ok" if place < 30 else f"text {place}", "stars": str(place % 2)} for place in range(40)]
    for share in (0.1, 0.2, 0.3, 0.7):
        dev = parts(declared(write_csv(tmp_path / "r.csv", rows), dev_share=share))["dev"].examples
        assert len(dev) == min(10, 40 * share)
    rows = [{"review": "one" if place < 10 else "two", "stars": str(place % 2)} for place in range(30)]
    dev = parts(declared(write_csv(tmp_path / "r.csv", rows), dev_share=0.1))["dev"].examples
    assert {each.first for each in dev} == {"one"}  # dev is not empty


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"columns": {"text": "t"}}, "columns", "one target is needed"),
        ({"columns": {"text": "t", "label": "a", "tags": "b"}}, "columns", "found label and tags"),
        ({"columns": {"text": "t", "label": "t"}}, "columns", "the column 't' is named twice"),
        ({"columns": {"text": "t", "options": ("a",), "label": "b"}}, "columns.options", "two options or more"),
        ({"columns": {"text": "t", "answer": "a"}}, "columns.answer", "an answer needs pair"),
        ({"metrics": ("acuracy",)}, "metrics.0", "'acuracy' is no metric of label; allowed: accuracy, f1"),
        ({"metrics": ("pearson",)}, "metrics.0", "'pearson' is no metric of label"),
        ({"metrics": ("f1",), "labels": ("a", "b", "c")}, "metrics", "f1 is of two labels, and there are 3"),
        ({"labels": ("a", "a")}, "labels.1", "'a' is listed twice"),
        ({"value_range": (0.0, 1.0)}, "value_range", "needs a smallest value below a largest"),
        ({"train": "reviews.xls"}, "train", "'reviews.xls' ends in none of .csv, .tsv, .jsonl"),
        ({"dev": "d.csv", "dev_share": 0.1}, "dev", "give either dev, a file, or dev_share"),
    ],
)
def test_a_contradiction_in_a_declaration_is_named(changes: dict[str, Any], path: str, message: str) -> None:
    document = {"train": "r.csv", "dev": "d.csv", "columns": {"text": "t", "label": "s"}, **changes}
    task = TableTask.model_validate({"kind": "table", **document}, strict=False)
    found = {".".join(map(str, violation.path)): violation.message for violation in task.violations()}
    assert message in found[path]


def test_a_file_that_is_missing_is_named_with_its_key(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "r.csv", REVIEWS)
    with pytest.raises(DataError) as refusal:
        resolve("reviews", declared(train, dev=str(tmp_path / "no.csv"), test=str(tmp_path / "nor.csv")))
    assert [line.partition(": ")[0] for line in refusal.value.lines] == [
        "fine_tuning.own_tasks.reviews.dev",
        "fine_tuning.own_tasks.reviews.test",
    ]
