"""Mistakes of published files in one table: each is told with file, line, value and rule, and all of them at once."""

import gzip
import json
import lzma
import zipfile
from pathlib import Path

import pytest

from steeplechase.foundation.errors import DataError
from tests.factories.task_files import read_part

Files = dict[str, str]
"""The text of every file, that of the dev part first; `.gz` and `.xz` are packed, `.zip` holds `data/a.jsonl`."""

SWAG = "fold-ind,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label"
SWAG_ROW = '3,"A man, old, sits.",He,gold,reads.,sleeps.,says hi.,flies.,2'
WIC = ("board\tN\t2-2\tRoom and board .\tHe nailed boards across .", "hook\tV\t0-1\tHook a fish .\tHe hooked .")
PAIR = {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps.", "linguistics_term": "agreement"}
SAID = "L{} +++$+++ u0 +++$+++ m0 +++$+++ BIANCA +++$+++ text\n"


def swag(*rows: str) -> Files:
    return {"val.csv": "\r\n".join((SWAG, *rows, ""))}


def wic(first: str = WIC[0], second: str = WIC[1], labels: str = "F\nT\n") -> Files:
    return {"dev.data.txt": f"{first}\n{second}\n", "dev.gold.txt": labels}


def blimp(**changes: object) -> Files:
    return {"BLiMP.zip": json.dumps({**PAIR, "UID": "regular", "pairID": "0", **changes})}


def dialogues(*turns: tuple[str, str]) -> Files:
    told = [{"speaker": speaker, "utterance": text} for speaker, text in turns]
    return {"dialogues_001.json.xz": json.dumps([{"dialogue_id": "1_0", "turns": told or None}])}


TABLE: list[
    tuple[str, Files, list[str]]
] = [  # a task, its files, the beginning of every line with what … it says later
    ("swag", swag(SWAG_ROW.replace("says hi.", " ")), ["val.csv:2: 3 endings, expected 4; an ending has no text"]),
    (
        "swag",
        swag(SWAG_ROW[:-1]),
        ["val.csv:2: the label is missing; expected 0, 1, 2, 3, the index of the right ending"],
    ),
    ("swag", swag(SWAG_ROW[:-1] + "4"), ["val.csv:2: the label is '4'; expected 0, 1, 2, 3"]),
    ("swag", swag(SWAG_ROW.replace("A man, old, sits.", "")), ["val.csv:2: no text before the endings"]),
    (
        "swag",
        swag(SWAG_ROW.replace("reads.", '"two\nlines"')[:-1] + "x", "3,a,b,c", SWAG_ROW.replace("sleeps.", "")),
        ["val.csv:2: the label is 'x'", "val.csv:4: 4 cells", "val.csv:5: 3 endings"],
    ),
    (
        "swag",
        {"val.csv": f"{SWAG.replace('ending0', 'endings0')}\n"},
        ["val.csv:1: no column 'ending0'; found are … Did you mean 'endings0'?"],
    ),
    ("swag", {"val.csv": ""}, ["val.csv:1: the file is empty"]),
    ("swag", swag(), ["val.csv:1: the file has no usable rows"]),
    ("swag", swag('1,"open'), ["val.csv:2: a quotation mark is not closed"]),
    (
        "codah",
        {"dev.tsv": "o\tHe\ta\tb\tc\t1\n"},
        ["dev.tsv:1: 6 cells, expected 7: category, prompt, ending 0"],
    ),
    ("ner_wnut17", {"a.conll": "Anna B-person\n"}, ["a.conll:1: 1 columns, expected 2 separated by tabs"]),
    (
        "ner_wnut17",
        {"a.conll": "Anna\tO\nOslo\tB-city\n"},
        ["a.conll:2: the tag is 'B-city'; expected one of O, B-corporation"],
    ),
    ("ner_wnut17", {"a.conll": " \tB-person\n"}, ["a.conll:1: a tag without a word"]),
    ("ner_wnut17", {"a.conll": "\n\n"}, ["a.conll:1: the file has no sentences"]),
    ("conll2003", {"eng.testa": "EU NNP I-ORG\n"}, ["eng.testa:1: 3 columns, expected 4 separated by spaces"]),
    (
        "conll2003",
        {"eng.testa": "EU NNP I-NP I-ORG\nx X X B-TIME\n"},
        ["eng.testa:2: the tag is 'B-TIME'; expected one of O, B-LOC"],
    ),
    ("conll2003", {"eng.testa": "-DOCSTART- -X- O O\n\n"}, ["eng.testa:1: the file has no sentences"]),
    ("blimp", {"BLiMP.zip": "{"}, ["BLiMP.zip/data/a.jsonl:1: not JSON"]),
    (
        "blimp",
        blimp(sentence_bad="a \ud83d"),
        [r"BLiMP.zip/data/a.jsonl:1: not JSON: \ud83d is half of a surrogate pair"],
    ),
    ("blimp", {"BLiMP.zip": "[]"}, ["BLiMP.zip/data/a.jsonl:1: not a JSON object"]),
    ("blimp", blimp(sentence_bad=""), ["BLiMP.zip/data/a.jsonl:1: no text in sentence_bad"]),
    ("blimp", blimp(UID=3, pairID=None), ["BLiMP.zip/data/a.jsonl:1: no text in UID, pairID"]),
    ("blimp", {"BLiMP.zip": ""}, ["BLiMP.zip: no minimal pairs"]),
    ("blimp", {"a.txt": "text"}, ["a.txt: not a readable zip archive"]),
    (
        "multi30k_de_en",
        {"val.de.gz": "eins\nzwei\n", "val.en.gz": "one\n"},
        ["val.de.gz:2: val.en.gz ends after 1 lines, val.de.gz has more"],
    ),
    (
        "multi30k_de_en",
        {"val.de.gz": "eins\n", "val.en.gz": "one\ntwo\n"},
        ["val.de.gz:2: val.de.gz ends after 1 lines, val.en.gz has more"],
    ),
    (
        "multi30k_de_en",
        {"val.de.gz": "eins\n \ndrei\n", "val.en.gz": "one\ntwo\n\n"},
        ["val.de.gz:2: the source is empty", "val.de.gz:3: the target is empty"],
    ),
    (
        "xsum",
        {
            "validation.jsonl": '{"document": "a b", "summary": "a"}\nno JSON\n{"document": "a"}\n'
            '{"document": " ", "summary": "x"}\n{"document": "a \\ud83d", "summary": "x"}\n'
        },
        [
            "validation.jsonl:2: not JSON",
            'validation.jsonl:3: expected an object with texts under "document" and "summary"',
            "validation.jsonl:4: the source is empty, expected a text",
            r"validation.jsonl:5: not JSON: \ud83d is half of a surrogate pair",
        ],
    ),
    (
        "sgd_responses",
        dialogues(),
        ['dialogues_001.json.xz:1: dialogues_001.json.xz, dialogue 1: expected "turns", a list'],
    ),
    (
        "sgd_responses",
        dialogues(("USER", "hello"), ("OTHER", "yes?")),
        ['dialogues_001.json.xz:1: dialogues_001.json.xz, dialogue 1: expected "turns", a list'],
    ),
    (
        "sgd_responses",
        dialogues(("USER", "hello \ud83d"), ("SYSTEM", "yes?")),
        [r"dialogues_001.json.xz: not JSON: \ud83d is half of a surrogate pair"],
    ),
    (
        "cornell_responses",
        {"movie_conversations.txt": "", "movie_lines.txt": f"{SAID.format(1)}L2 +++$+++ x\n{SAID.format(1)}"},
        [
            "movie_lines.txt:2: 2 fields by +++$+++; expected line, speaker, film, name, text",
            "movie_lines.txt:3: line L1 occurs twice",
        ],
    ),
    (
        "cornell_responses",
        {
            "movie_conversations.txt": "u0 +++$+++ u1 +++$+++ m0 +++$+++ ['L1', 2]\n"
            "u0 +++$+++ u1 +++$+++ m0 +++$+++ ['L1', 'L9']\n__import__('os')\n",
            "movie_lines.txt": SAID.format(1) + SAID.format(2),
        },
        [
            "movie_conversations.txt:1: expected two speakers, the film and a list of lines … (also in line 3)",
            "movie_conversations.txt:2: no line L9 in movie_lines.txt",
        ],
    ),
    ("wic", wic(WIC[0].replace("2-2", "3-9")), ["dev.data.txt:1: the places are '3-9'; the sentences have 4 and 5"]),
    ("wic", wic(second=WIC[1].replace("V", "A")), ["dev.data.txt:2: the part of speech is 'A'; expected N or V"]),
    ("wic", wic(WIC[0].replace("\tN", " N")), ["dev.data.txt:1: 4 cells, expected 5: word, part of speech"]),
    ("wic", wic(labels="F\nyes\n"), ["dev.gold.txt:2: the label is 'yes'; expected T or F"]),
    ("wic", wic(labels="F\n"), ["dev.data.txt:2: 2 rows, and dev.gold.txt has 1 labels"]),
    ("wic", {"dev.data.txt": "", "dev.gold.txt": ""}, ["dev.data.txt:1: the file has no rows"]),
    (
        "wic",
        wic(WIC[0].replace("2-2", "2"), WIC[1].replace("0-1", "a-1")),
        ["dev.data.txt:1: the places are '2'", "dev.data.txt:2: the places are 'a-1'"],
    ),
]


def write(path: Path, text: str) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data/a.jsonl" if text else "readme", text)
        return
    content = text.encode("iso-8859-1" if "movie" in path.name else "utf-8")
    packed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix)
    path.write_bytes(content if packed is None else packed(content))


@pytest.mark.parametrize(("task", "texts", "starts"), TABLE)
def test_every_mistake_of_a_file_is_told(task: str, texts: Files, starts: list[str], tmp_path: Path) -> None:
    for name, text in texts.items():
        write(tmp_path / name, text)
    part = "train" if task == "cornell_responses" else "dev"
    with pytest.raises(DataError) as refusal:
        read_part(task, tmp_path / next(iter(texts)), part)
    for line, expected in zip(refusal.value.lines, starts, strict=True):
        start, *others = expected.split(" … ")
        assert line.startswith(start)
        assert all(other in line for other in others)
