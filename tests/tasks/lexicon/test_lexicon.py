"""A lexicon's supersenses and synonyms: of words, of tokens, and mistakes by line."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from steeplechase.foundation.errors import CorruptionError, DataError
from steeplechase.tasks.lexicon.supersenses import (
    STOP_WORDS,
    Lexicon,
    Supersenses,
    read_token_senses,
    token_senses,
    write_token_senses,
)
from steeplechase.tasks.lexicon.synonyms import Synonyms
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS
from tests.factories.published_data import published
from tests.factories.tokenizers import TEXTS, trained

PLAIN = (
    "Turkey\tnoun.food,noun.animal\nturkey\tnoun.location\n\n"
    "church\tnoun.artifact\nstop\tverb.motion\nlarge\tadj.all\n"
)
TABLE = "lemma\tpos\tlexname\nturkey\tn\tnoun.food\nturkey\tn\tnoun.animal\ngive up\tv\tverb.social\n"


def lexicon(folder: Path, text: str, name: str = "lexicon.tsv") -> Lexicon:
    data = text.encode()
    (folder / name).write_bytes(lzma.compress(data) if name.endswith(".xz") else data)
    return Lexicon(path=str(folder / name))


def senses(found: Supersenses, word: str) -> list[str]:
    return sorted(found.names[sense] for sense in found.allowed(word))


def test_a_word_has_the_senses_of_all_its_lines_in_any_case(tmp_path: Path) -> None:
    found = lexicon(tmp_path, PLAIN).read()
    assert found.names == tuple(sorted(found.names))
    assert senses(found, "TURKEY") == ["noun.animal", "noun.food", "noun.location"]


def test_a_table_is_read_by_its_header_and_compressed_files_are_read(tmp_path: Path) -> None:
    found = lexicon(tmp_path, TABLE, "lexicon.tsv.xz").read()
    assert found.names == ("noun.animal", "noun.food", "verb.social")
    assert senses(found, "turkey") == ["noun.animal", "noun.food"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("churches", ["noun.artifact"]),
        ("stopped", ["verb.motion"]),
        ("stopping", ["verb.motion"]),
        ("larger", ["adj.all"]),
        ("largest", ["adj.all"]),
        ("stoper", []),  # a verb has no comparative
        ("unknown", []),
    ],
)
def test_an_inflected_word_has_the_senses_of_its_base_form_and_part_of_speech(
    word: str, expected: list[str], tmp_path: Path
) -> None:
    assert senses(lexicon(tmp_path, PLAIN).read(), word) == expected


@pytest.mark.parametrize("word", ["cat", "they", "There", "with"])
def test_short_words_and_stop_words_have_no_senses(word: str, tmp_path: Path) -> None:
    assert senses(lexicon(tmp_path, f"{word}\tnoun.animal\n").read(), word) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("turkey\n", "lexicon.tsv:1: 1 columns, expected 2 separated by tabs"),
        ("turkey\tnoun.food\nx\t\n", "lexicon.tsv:2: a word without a sense"),
        ("\tnoun.food\n", "lexicon.tsv:1: a sense without a word"),
        ("turkey\tnoun.food,,\n", "lexicon.tsv:1: a word without a sense"),
        ("lemma\tlexname\nturkey\n", "lexicon.tsv:2: 1 columns, expected 2"),
        ("", "lexicon.tsv:1: the file has no words"),
    ],
)
def test_a_mistake_is_one_line(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        lexicon(tmp_path, text).read()
    assert len(refusal.value.lines) == 1
    assert refusal.value.lines[0].startswith(line)


def test_a_missing_lexicon_and_another_number_of_supersenses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Lexicon(path=str(tmp_path / "none.tsv")).inputs()
    with pytest.raises(DataError, match="5 supersenses; the architecture has supersenses: 45"):
        lexicon(tmp_path, PLAIN.replace("turkey\tnoun.location\n", "")).refuse_other_than(45)


def test_the_identity_of_a_lexicon_is_its_content_and_not_its_path(tmp_path: Path) -> None:
    one, same, other = (lexicon(tmp_path, text, f"{n}.tsv") for n, text in enumerate((PLAIN, PLAIN, TABLE)))
    assert one.inputs() == same.inputs() != other.inputs()


def test_tokens_that_are_words_have_their_senses_and_no_others(tmp_path: Path) -> None:
    tokenizer = WordPiece([*SPECIAL_TOKENS, "turkey", "##turkey", "turkeys", "12", "church"], lowercase=True)
    found = lexicon(tmp_path, PLAIN).read()
    allowed = token_senses(found, tokenizer)
    assert allowed.shape == (10, len(found.names))
    assert allowed.any(axis=1).tolist() == [False] * 5 + [True, False, True, False, True]
    assert allowed[5].sum() == 3
    write_token_senses(allowed, tmp_path)
    assert (read_token_senses(tmp_path) == allowed).all()
    np.save(tmp_path / "supersenses.npy", allowed[0])
    with pytest.raises(CorruptionError):
        read_token_senses(tmp_path)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "byte_bpe", "unigram", "word"])
def test_a_token_that_a_whole_word_is_encoded_as_has_its_senses(kind: str, tmp_path: Path) -> None:
    tokenizer = trained(kind)
    encoded = {word: tokenizer.encode([f"a {word} of"])[0] for word in {*" ".join(TEXTS).split()} if word.isalpha()}
    last = {word: tokens[-2] for word, tokens in encoded.items() if len(word) > 3}
    whole = {word: token for word, token in last.items() if tokenizer.decode([token]).strip() == word}
    word, token = next((word, token) for word, token in sorted(whole.items()) if word not in STOP_WORDS)
    found = lexicon(tmp_path, f"{word}\tnoun.attribute\nother\tverb.stative\n").read()
    assert token_senses(found, tokenizer)[token].tolist() == [True, False]


def test_open_english_wordnet_has_its_45_supersenses() -> None:
    path = published("supersense/oewn/lemma_lexnames.tsv.xz")
    found = Lexicon(path=str(path)).read()
    assert len(found.names) == 45
    assert sum(name.startswith("noun.") for name in found.names) == 26
    assert sum(name.startswith("verb.") for name in found.names) == 15
    assert all(found.of_words.values())
    assert {"noun.person", "noun.group"} == {*senses(found, "women")}
    assert len(found.of_words) > 120_000


def test_synonyms_are_listed_or_are_the_words_of_one_synset(tmp_path: Path) -> None:
    listed, table = tmp_path / "listed.tsv", tmp_path / "table.tsv"
    listed.write_text("good\tfine,Salutary,two words,good\nbad\tbaleful\n")
    table.write_text("lemma\tpos\tsynset\nGood\ta\t1\nfine\ta\t1\nfine\tn\t2\npenalty\tn\t2\nwell-off\ta\t1\n")
    assert Synonyms(path=str(listed)).read() == {"good": ("fine", "salutary"), "bad": ("baleful",)}
    found = Synonyms(path=str(table)).read()
    assert found == {"good": ("fine",), "fine": ("good", "penalty"), "penalty": ("fine",)}


def test_mistakes_are_told_by_line_and_a_missing_file_by_its_layout(tmp_path: Path) -> None:
    (tmp_path / "wrong.tsv").write_text("good fine\nbad\t,\n")
    with pytest.raises(DataError) as mistakes:
        Synonyms(path=str(tmp_path / "wrong.tsv")).read()
    assert [line.partition(": ")[0] for line in mistakes.value.lines] == ["wrong.tsv:1", "wrong.tsv:2"]
    with pytest.raises(DataError, match="no such file; a file of synonyms has lines"):
        Synonyms(path=str(tmp_path / "absent.tsv")).located()
