"""Files as their field writes them: without a header, with quotes, CoNLL, nested columns, numbered tags, no label."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from runners.task_sources import table_notes, table_warnings, task_source
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.own_tasks.parsing import parse_file
from steeplechase.tasks.own_tasks.table import TableTask

CONLL = "# a comment\n-DOCSTART- -X- O O\n\nAnna NNP I-NP I-PER\nsings VBZ I-VP O\n\n# 3 x\nOslo NNP I-NP I-LOC\n"
CONLL_U = (
    "# text = x\n1-2\tIm\t_\t_\n1\tin\tin\tADP\n2\tdem\tder\tDET\n2.1\t_\t_\tX\n\n# more\n1\tOslo\tOslo\tPROPN\n"
)
ENTITIES = [("Anna sings", ("I-PER", "O")), ("Oslo", ("I-LOC",))]
REVIEWS = [("good, really", "yes"), ('a "bad" one', "no")]
ANSWERS = {"q": "Who?", "c": "Anna and Oslo", "answers": {"text": ["Anna", "Oslo"], "answer_start": [0, 9]}}
NESTED = {"text": "q", "pair": "c", "answer": "answers.text", "answer_start": "answers.answer_start"}


def tuning_of(folder: Path, name: str, content: str | bytes, **declared: Any) -> FineTuning:
    """Return the settings of an experiment with one task `r`, whose train file has the content."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    document = {"kind": "table", "train": str(folder / name), "dev": str(folder / name), **declared}
    return FineTuning.model_validate({"own_tasks": {"r": document}, "tasks": ("r",)}, strict=False)


def examples_of(tuning: FineTuning) -> tuple[Example, ...]:
    """Return the train examples as the stage of examples reads them."""
    source = task_source(tuning, "r")
    assert source.data is not None
    assert source.task.files is not None
    return source.data.parts(source.task.files)["train"].examples


def labelled(tuning: FineTuning) -> list[tuple[str, str]]:
    """Return the texts with their labels."""
    labels = task_source(tuning, "r").task.labels
    return [(each.first, labels[each.label or 0]) for each in examples_of(tuning)]


def tagged(tuning: FineTuning) -> list[tuple[str, tuple[str, ...]]]:
    """Return the sentences with their tags."""
    labels = task_source(tuning, "r").task.labels
    return [(each.first, tuple(labels[tag] for tag in each.tags)) for each in examples_of(tuning)]


@pytest.mark.parametrize(
    ("name", "content", "declared"),
    [
        ("r.csv", '"good, really",yes\n"a ""bad"" one",no\n', {"columns": {"text": 1, "label": 2}}),
        ("r.csv", '7,"good, really",yes\n8,"a ""bad"" one",no\n', {"columns": {"text": -2, "label": -1, "id": 1}}),
        ("r.tsv", 'good, really\tyes\na "bad" one\tno\n', {"columns": {"text": 1, "label": 2}}),
        (
            "r.tsv",
            't\tl\n"good, really"\tyes\n"a ""bad"" one"\tno\n',
            {"columns": {"text": "t", "label": "l"}, "quotes": True},
        ),
        ("r.tsv", 'good, really\t1\na "bad" one\t0\n', {"columns": {"text": 1, "label": 2}, "labels": ["no", "yes"]}),
        (
            "r.csv",
            '"good, really",yes\nx,-\n"a ""bad"" one",no\n',
            {"columns": {"text": 1, "label": 2}, "unlabelled": ["-"]},
        ),
        (
            "r.csv",
            '"good, really",yes\nx,\n"a ""bad"" one",no\n',
            {"columns": {"text": 1, "label": 2}, "unlabelled": [""]},
        ),
        (
            "r.jsonl",
            "".join(json.dumps({"x": {"t": text, "l": label}}) + "\n" for text, label in [*REVIEWS, ("x", -1)]),
            {"columns": {"text": "x.t", "label": "x.l"}, "unlabelled": [-1]},
        ),
    ],
)
def test_labelled_texts_of_every_layout_are_the_same(
    name: str, content: str, declared: dict[str, Any], tmp_path: Path
) -> None:
    assert labelled(tuning_of(tmp_path, name, content, **declared)) == REVIEWS


@pytest.mark.parametrize(
    ("name", "content", "declared", "expected"),
    [
        ("r.conll", CONLL, {"columns": {"text": 1, "tags": 4}}, ENTITIES),
        ("r.txt", CONLL, {"columns": {"text": 1, "tags": -1}}, ENTITIES),
        ("r.tsv", CONLL.replace(" ", "\t").replace("#\t", "# "), {"columns": {"text": 1, "tags": -1}}, ENTITIES),
        (
            "r.conllu",
            CONLL_U,
            {"columns": {"text": "FORM", "tags": "UPOS"}, "metrics": ["accuracy"]},
            [("in dem", ("ADP", "DET")), ("Oslo", ("PROPN",))],
        ),
        (
            "r.jsonl",
            '{"w": ["Anna", "sings"], "t": [1, 0]}\n{"w": ["Oslo"], "t": [2]}\n',
            {"columns": {"text": "w", "tags": "t"}, "labels": ["O", "I-PER", "I-LOC"]},
            ENTITIES,
        ),
    ],
)
def test_tagged_sentences_of_every_layout(
    name: str, content: str, declared: dict[str, Any], expected: object, tmp_path: Path
) -> None:
    assert tagged(tuning_of(tmp_path, name, content, **declared)) == expected


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_questions_with_several_answers_are_read_as_squad(form: str, tmp_path: Path) -> None:
    rows = [ANSWERS, {"q": "Where?", "c": "In oslo", "answers": {"text": ["Oslo"], "answer_start": [3]}}]
    path = tmp_path / f"r.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    content = path.read_bytes() if form == "parquet" else "".join(json.dumps(row) + "\n" for row in rows)
    tuning = tuning_of(tmp_path, path.name, content, columns=NESTED, squad="v1.1")
    source = task_source(tuning, "r")
    assert source.task.form == "windows"
    assert source.table is not None
    assert (source.table.answers_moved, source.table.answers_absent) == (0, 2)  # train and dev are the same file
    own = tuning.own_tasks["r"]
    assert isinstance(own, TableTask)
    assert source.task.files is not None
    questions = own.table_files.questions(source.task.files, "dev", "v1.1").questions
    assert [[(answer.text, answer.start) for answer in each.answers] for each in questions] == [
        [("Anna", 0), ("Oslo", 9)],
        [("Oslo", None)],
    ]
    assert "r: 2 of 6 answers do not stand in their contexts" in " ".join(table_warnings(tuning))


def test_target_texts_are_a_task_of_text_pairs(tmp_path: Path) -> None:
    content = '{"translation": {"en": "a dog", "de": "ein Hund"}}\n'
    columns = {"text": "translation.en", "target": "translation.de"}
    tuning = tuning_of(tmp_path, "r.jsonl", content, columns=columns)
    assert [(each.first, each.second) for each in examples_of(tuning)] == [("a dog", "ein Hund")]
    assert (task_source(tuning, "r").task.form, task_source(tuning, "r").task.metrics) == (
        "text_pair",
        ("bleu", "chrf"),
    )


def test_the_second_text_of_a_choice_begins_every_option(tmp_path: Path) -> None:
    content = "Anna has a cat.,She,sings,sleeps,1\n"
    tuning = tuning_of(tmp_path, "r.csv", content, columns={"text": 1, "pair": 2, "options": [3, 4], "label": 5})
    assert [(each.first, each.endings, each.label) for each in examples_of(tuning)] == [
        ("Anna has a cat.", ("She sings", "She sleeps"), 1)
    ]


@pytest.mark.parametrize(
    ("name", "content", "declared", "said"),
    [
        (
            "r.csv",
            "a,x\nb,-\nc,y\n",
            {"columns": {"text": 1, "label": 2}},
            "r: the label '-' (2 examples) may mean no label; unlabelled: ['-'] leaves such rows out",
        ),
        (
            "r.csv",
            "a,0\nb,-1\nc,1\n",
            {"columns": {"text": 1, "label": 2}},
            "r: the label '-1' (2 examples) may mean no label",
        ),
        (
            "r.tsv",
            't\tl\n"a"\tx\n"b"\ty\n',
            {"columns": {"text": "t", "label": "l"}},
            "r: 2 cells of .tsv begin and end with a quotation mark, which is read as text; quotes: true reads them",
        ),
    ],
)
def test_what_may_be_a_mistake_is_told(
    name: str, content: str, declared: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert any(said in line for line in table_warnings(tuning_of(tmp_path, name, content, **declared)))


def test_the_labels_that_no_one_agreed_on_are_no_warning_where_they_are_one_of_two(tmp_path: Path) -> None:
    tuning = tuning_of(tmp_path, "r.csv", "a,1\nb,-1\n", columns={"text": 1, "label": 2})
    assert not [line for line in table_warnings(tuning) if "may mean no label" in line]
    assert "r: train 2, dev 2 examples; labels in train: '-1' 1, '1' 1" in " ".join(table_notes(tuning))


def test_a_dev_set_of_one_label_has_metrics_without_a_value(tmp_path: Path) -> None:
    tuning = tuning_of(tmp_path, "r.csv", "a,x\nb,y\n", columns={"text": 1, "label": 2}, metrics=["f1", "matthews"])
    (tmp_path / "dev.csv").write_text("a,x\nc,x\n")
    own = tuning.own_tasks["r"].model_copy(update={"dev": str(tmp_path / "dev.csv")})
    warned = " ".join(table_warnings(FineTuning(own_tasks={"r": own}, tasks=("r",))))
    assert "r: no value of matthews on dev: all 2 examples have the label 'x'" in warned


@pytest.mark.parametrize(
    ("train", "dev", "labels", "said"),
    [
        (
            "a,x\nb,y\n",
            "c,z\nd,x\n",
            ["x", "y", "z"],
            "1 of 2 dev examples have a label that no train example has: 'z'",
        ),
        (
            "a,0.5\nb,1.25\n",
            "c,2.5\nd,3.0\n",
            ["0.5", "1.25", "2.5", "3.0"],
            "2 of 2 dev examples have a label that no train example has: '2.5', '3.0'. To predict numbers, name the",
        ),
        ("a,x\nb,y\n", "c,y\nd,x\n", ["x", "y", "z"], ""),
        ("a,1\nb,2\n", "c,3\n", ["1", "2", "3"], "1 of 1 dev examples have a label that no train example has: '3'"),
    ],
)
def test_labels_that_no_train_example_has_are_told(
    train: str, dev: str, labels: list[str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "dev.csv").write_text(dev)
    tuning = tuning_of(tmp_path, "r.csv", train, columns={"text": 1, "label": 2}, labels=labels)
    own = tuning.own_tasks["r"].model_copy(update={"dev": str(tmp_path / "dev.csv"), "dev_share": None})
    lines = [*table_warnings(FineTuning(own_tasks={"r": own}, tasks=("r",)))]
    told = [line.removeprefix("fine_tuning.own_tasks.r: ") for line in lines if "no train example" in line]
    assert len(told) == bool(said)
    assert all(line.startswith(said) for line in told)
    assert ("To predict numbers" in " ".join(told)) == ("." in train)


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000", "\u2028", "\x85"])
@pytest.mark.parametrize("between", [" ", "\t", "  "])
def test_a_space_of_unicode_in_a_word_of_conll_separates_no_columns(space: str, between: str, tmp_path: Path) -> None:
    content = f"10{space}000{between}O\nOslo{between}I-LOC\n"
    tuning = tuning_of(tmp_path, "r.conll", content, columns={"text": 1, "tags": -1})
    assert tagged(tuning) == [("10000 Oslo", ("O", "I-LOC"))]


@pytest.mark.parametrize("squad", [None, "v1.1"])
def test_a_dev_share_keeps_the_questions_of_a_context_in_one_part(tmp_path: Path, squad: str | None) -> None:
    rows = [{"q": f"Who {n}?", "c": f"{n % 8} Anna sang.", "a": "Anna", "s": 2} for n in range(40)]
    columns = {"text": "q", "pair": "c", "answer": "a", "answer_start": "s"}
    content = "".join(f"{json.dumps(row)}\n" for row in rows)
    tuning = tuning_of(tmp_path, "r.jsonl", content, columns=columns, dev=None, dev_share=0.3, squad=squad)
    task = tuning.own_tasks["r"]
    assert isinstance(task, TableTask)
    divided = task.split(parse_file(task, tmp_path / "r.jsonl", "r.jsonl").rows)
    train, dev = ({row.example.second for row in divided[part]} for part in ("train", "dev"))
    assert not train & dev
    assert (len(train), len(dev)) == (6, 2)
    assert task.task("r").version == 2  # other examples than those of a split by question and context
