"""Mentions: files and gazetteers, mistakes, positions in the stream of tokens, names of other entities."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search_space.packing.mentions import MentionBatches
from search_space.packing.sequences import EntityNames, Text
from steeplechase.foundation.errors import CorruptionError, DataError
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.mentions.declaration import Gazetteer, Mention, MentionFile, without_overlaps
from steeplechase.tasks.mentions.token_mentions import Entities, read_entity_names, read_mentions, write_mentions
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.tokens import read_tokens, write_tokens
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

PIECES = ("anna", "##s", "went", "to", "new", "york", "city", "oslo", "bert", "newer", "and")
TOKENIZER = WordPiece([*SPECIAL_TOKENS, *PIECES], lowercase=True)
DOCUMENTS = [Document("a#1", "Anna went to New York City and Oslo"), Document("a#2", "Annas Bert went to New York")]
NAMES = "Anna\tQ1\tperson\nBert\tQ2\tperson\nNew York\tQ3\tplace\nNew York City\tQ4\tplace\nOslo\tQ5\tplace\n"


def gazetteer(folder: Path, text: str = NAMES) -> Gazetteer:
    (folder / "names.tsv").write_text(text, encoding="utf-8")
    return Gazetteer(path=str(folder / "names.tsv"))


def mention_file(folder: Path, *lines: object) -> MentionFile:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "mentions.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return MentionFile(path=str(folder / "mentions.jsonl"))


def line(document: str, start: int, end: int, entity: str = "Q1", kind: str = "person") -> dict[str, object]:
    return {"document": document, "start": start, "end": end, "entity": entity, "type": kind}


def texts(document: Document, mentions: object) -> list[str]:
    return [document.text[each.start : each.end] for each in without_overlaps(mentions)]  # type: ignore[arg-type]


def test_the_longest_name_at_each_word_is_found_and_no_part_of_a_word(tmp_path: Path) -> None:
    finder = gazetteer(tmp_path).finder()
    found = [texts(document, finder.mentions(document)) for document in DOCUMENTS]
    assert found == [["Anna", "New York City", "Oslo"], ["Bert", "New York"]]


def test_capitalised_nouns_of_wordnet_are_names_of_their_synset(tmp_path: Path) -> None:
    rows = (
        "lemma\tpos\tlexname\tsynset",
        "Oslo\tn\tnoun.location\t01-n",
        "Anna\ta\tadj.pert\t02-a",
        "went\tn\tnoun.act\t03-n",
    )
    (mention,) = gazetteer(tmp_path, "\n".join(rows)).finder().mentions(DOCUMENTS[0])
    assert mention == Mention(31, 35, "01-n", "noun.location")


def test_a_file_gives_the_mentions_of_its_documents(tmp_path: Path) -> None:
    finder = mention_file(tmp_path, line("a#1", 0, 4), line("a#2", 6, 10, "Q2")).finder()
    assert [texts(document, finder.mentions(document)) for document in DOCUMENTS] == [["Anna"], ["Bert"]]
    with pytest.raises(DataError, match="several documents, so that its offsets are ambiguous"):
        finder.mentions(DOCUMENTS[0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "mentions.jsonl:1: Invalid JSON"),
        ('{"document": "a#1", "start": 0, "end": 4, "entity": "Q1"}', "mentions.jsonl:1: type: Field required"),
        (line("a#1", 4, 4), "mentions.jsonl:1: start 4 is not before end 4"),
        (line("a#1", -1, 4), "mentions.jsonl:1: start: Input should be greater"),
        ("", "mentions.jsonl:1: the file has no mentions"),
    ],
)
def test_a_mistake_of_a_file_of_mentions_is_one_line(row: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        mention_file(tmp_path, row).finder()
    assert len(refusal.value.lines) == 1
    assert refusal.value.lines[0].startswith(message)


def test_a_mention_beyond_its_document_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ends at 99; a#1 has 35 characters"):
        mention_file(tmp_path, line("a#1", 0, 99)).finder().mentions(DOCUMENTS[0])
    for source in (MentionFile(path=str(tmp_path / "none")), Gazetteer(path=str(tmp_path / "none"))):
        with pytest.raises(DataError, match="no such file"):
            source.located()


@pytest.mark.parametrize(
    ("text", "message"),
    [("Anna\tQ1\n", "names.tsv:1: 2 columns, expected 3"), ("Anna\t\tx\n", "names.tsv:1: an empty column"), ("", "")],
)
def test_a_mistake_of_a_gazetteer_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        gazetteer(tmp_path, text).finder()
    assert refusal.value.lines[0].startswith(message)


def test_mentions_in_the_stream_are_their_tokens_and_overlapping_or_split_ones_are_left_out(tmp_path: Path) -> None:
    finder = mention_file(
        tmp_path,
        *(line("a#1", 13, 26, "Q4", "place"), line("a#1", 13, 21, "Q3", "place"), line("a#1", 31, 35, "Q5", "place")),
        *(line("a#2", 0, 4), line("a#2", 0, 3), line("a#2", 6, 10, "Q2")),
    ).finder()
    write_tokens((document.text for document in DOCUMENTS), 2, TOKENIZER, tmp_path / "train.npy", silent)
    entities = Entities()
    counts = write_mentions(DOCUMENTS, finder, TOKENIZER, entities, tmp_path / "m.npy")
    stream, mentions = read_tokens(tmp_path / "train.npy"), read_mentions(tmp_path / "m.npy")
    written = [[TOKENIZER.pieces[token] for token in stream[first:last]] for first, last, _ in mentions]
    assert written == [["new", "york", "city"], ["oslo"], ["anna"], ["bert"]]
    assert (counts.kept, counts.left_out) == (4, 2)
    entities.save(tmp_path)
    names = read_entity_names(tmp_path)
    random = np.random.default_rng(1)
    others = [{names.other(int(entity), random) for _ in range(20)} for entity in mentions[:, 2]]
    spelled = [{" ".join(PIECES[token - 5] for token in name or ()) for name in each} for each in others]
    assert spelled == [{"oslo"}, {"new york city"}, {"bert"}, {"anna"}]


def test_the_only_entity_of_a_type_has_no_other_and_damaged_files_are_refused(tmp_path: Path) -> None:
    assert EntityNames(["a", "b"], [[(1,)], [(2,)]]).other(0, np.random.default_rng(1)) is None
    (tmp_path / "entities.json").write_text("[{}]")
    with pytest.raises(CorruptionError):
        read_entity_names(tmp_path)
    with pytest.raises(CorruptionError):
        read_mentions(tmp_path / "none.npy")


def test_a_sequence_has_the_mentions_that_are_whole_inside_it_and_a_text_without_any_is_refused() -> None:
    tokens, names = np.arange(5, 16, dtype=np.uint16).repeat(3), EntityNames(["a"], [[(1,)]])
    mentions = np.array([[0, 2, 0], [9, 11, 0], [12, 13, 0], [19, 20, 0]])
    text = Text(tokens, np.empty(0, np.int64), TOKENIZER, 12, mentions, names)
    sequences = MentionBatches(text).evenly_spaced(3, 1)
    for row, number in enumerate(sequences.numbers):
        inside = sequences.mentions[row][sequences.mentions[row, :, 0] >= 0]
        assert [[*each] for each in inside] == {0: [[1, 3, 0]], 1: [[3, 4, 0], [10, 11, 0]], 2: []}[int(number)]
    with pytest.raises(DataError, match="the text has no entity mentions"):
        MentionBatches(replace(text, mentions=mentions[:0])).at(0, 2, 1)
