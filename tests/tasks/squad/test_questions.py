"""Official SQuAD files have the published counts; all mistakes of a file are reported with their paths."""

import json
from pathlib import Path

import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.squad.files import Part, is_official_name, squad_file
from steeplechase.tasks.squad.questions import read_squad
from tests.factories.squad_files import document, official, question, write

TEXT = "The Normans gave their name to Normandy, a region in France."
PUBLISHED: list[tuple[Version, Part, int, int]] = [
    ("v1.1", "train", 11877, 11877),
    ("v1.1", "dev", 10570, 10570),
    ("v2.0", "train", 5147, 5147 - 348),
    ("v2.0", "dev", 11873, 5928),
]


@pytest.mark.parametrize(("version", "part", "count", "answerable"), PUBLISHED)
def test_the_published_files_have_the_published_counts(
    version: Version, part: Part, count: int, answerable: int
) -> None:
    file = official(version, part)
    assert len(file.questions) == len({each.identifier for each in file.questions}) == count
    assert sum(each.answerable for each in file.questions) == answerable
    assert (file.answers_moved, file.answers_lost, file.notes) == (0, 0, ())
    for each in file.questions:
        for answer in each.answers:
            assert answer.start is not None
            assert each.context[answer.start :].startswith(answer.text)


def test_an_answer_at_another_position_is_moved_or_lost_and_counted(tmp_path: Path) -> None:
    asked = [
        question("right", "Where?", ("France", TEXT.index("France"))),
        question("near", "Where?", ("France", TEXT.index("France") - 3)),
        question("far", "Who?", ("Normans", 50)),
        question("nowhere", "Who?", ("Vikings", 4)),
        question("before", "Who?", ("The", -2)),
        question("beyond", "Where?", ("France.", 10**9)),
    ]
    file = read_squad(write(tmp_path, document((TEXT, asked))), "v1.1")
    starts = {each.identifier: each.answers[0].start for each in file.questions}
    where = TEXT.index("France")
    assert starts == {"right": where, "near": where, "far": None, "nowhere": None, "before": 0, "beyond": None}
    assert (file.answers_moved, file.answers_lost) == (2, 3)
    assert file.notes[0] == (
        "dev-v1.1.json: data[0].paragraphs[0].qas[1] (question near) answer 0: 'France' does not stand at "
        f"{where - 3}, but at {where}"
    )
    assert len(file.notes) == 5


def test_all_mistakes_are_reported_with_their_paths(tmp_path: Path) -> None:
    wrong = document(
        (TEXT, [question("one", "Who?", ("Normans", 4)), question("one", "Who?", ("Normans", 4))]),
        (" ", [question("two", "Who?"), {"id": "three", "question": 3, "answers": []}]),
        (TEXT, [question("four", "Who?", ("Normans", 4), impossible=True)]),
    )
    wrong["data"][0]["paragraphs"][2]["qas"] += [
        {"question": "Who?", "answers": [{"text": "", "answer_start": True}, "Normans"]}
    ]
    wrong["data"] += [{"title": "B"}, 7]
    with pytest.raises(DataError) as refused:
        read_squad(write(tmp_path, wrong), "v1.1")
    place = "dev-v1.1.json: data[0].paragraphs"
    assert list(refused.value.lines[:-1]) == [
        f"{place}[0].qas[1]: duplicate id 'one', first in data[0].paragraphs[0].qas[0]",
        f"{place}[1]: an empty context; expected the text that the questions are about",
        f"{place}[1].qas[0] (question two): no answers; every question of SQuAD 1.1 has one",
        f"{place}[1].qas[1]: question is a whole number (3); expected a text",
        f"{place}[1].qas[1] (question three): no answers; every question of SQuAD 1.1 has one",
        f"{place}[2].qas[0] (question four): is_impossible is true; SQuAD 1.1 has no such questions, squad_v2_0 has",
        f"{place}[2].qas[1]: no 'id'; expected a text",
        f"{place}[2].qas[1].answers[0]: answer_start is true or false; expected a whole number",
        f"{place}[2].qas[1].answers[0]: an answer without text",
        f"{place}[2].qas[1].answers[1]: is a text ('Normans'); expected an object",
    ]
    assert refused.value.lines[-1] == "… and 2 more such mistakes"


def test_a_file_of_the_other_version_is_refused_for_every_question(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\(question a\): is_impossible is missing; .*is this a file of 1\.1\?"):
        read_squad(write(tmp_path, document((TEXT, [question("a", "Who?", ("Normans", 4))]))), "v2.0")
    contrary = [question("b", "Who?", ("Normans", 4), impossible=True), question("c", "Who?", impossible=False)]
    with pytest.raises(DataError) as refused:
        read_squad(write(tmp_path, document((TEXT, contrary))), "v2.0")
    assert [line.split(": ")[-1] for line in refused.value.lines] == [
        "is_impossible is true, yet there are 1 answers",
        "is_impossible is false, yet there are no answers",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"[]", "is a list; expected an object with a list under 'data'"),
        (b'{"data": []}', "holds no question"),
        (b'{"data": {}}', "data is an object; expected a list"),
        (b'{"data": [],\n "data": []}', "the file: duplicate field 'data'"),
        (b'{"data": [\n  {"title": }]}', r"dev-v1\.1\.json:2: column 13 \(byte offset 23\): not JSON"),
        (b'{"data": ["\xe9"]}', "byte 0xe9 at byte offset 11 is not UTF-8"),
        (b'{"data": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "not JSON: maximum recursion depth"),
        (b"\x1f\x8b\x08\x00", r"the first bytes are \.gz data"),
        (b'{"data": [' + b"9" * 5000 + b"]}", "not JSON: Exceeds the limit"),
        (b'{"data": [{"paragraphs": [{"context": "\\ud800", "qas": []}]}]}', "lone surrogate"),
    ],
)
def test_an_invalid_file_is_reported_with_position_and_reason(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "dev-v1.1.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=expected):
        read_squad(path, "v1.1")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json: No such file"):
        read_squad(tmp_path / "none.json", "v1.1")


def test_a_folder_gives_the_official_file_or_its_one_subset(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no train-v1\.1\.json; expected train-v1\.1\.json of https://rajpurkar"):
        squad_file(tmp_path, "v1.1", "train")
    first = write(tmp_path, {}, "train-v1.1.subset44.json")
    assert squad_file(tmp_path, "v1.1", "train") == first
    assert squad_file(first, "v1.1", "train") == first
    assert not is_official_name(first, "v1.1", "train")
    write(tmp_path, {}, "train-v1.1.subset2.json")
    with pytest.raises(
        DataError, match=r"train-v1\.1\.subset2\.json, train-v1\.1\.subset44\.json: several files match"
    ):
        squad_file(tmp_path, "v1.1", "train")
    official = write(tmp_path, {}, "train-v1.1.json")
    assert squad_file(tmp_path, "v1.1", "train") == official
    assert is_official_name(official, "v1.1", "train")


def test_a_duplicate_field_is_reported(tmp_path: Path) -> None:
    inside = json.dumps(document((TEXT, [question("a", "Who?", ("Normans", 4))])))
    twice = inside.replace('"qas": [', '"qas": [], "qas": [')
    with pytest.raises(DataError, match=r"data\[0\]\.paragraphs\[0\]: duplicate field 'qas'"):
        read_squad(write(tmp_path, twice), "v1.1")
