"""Synonyms of words: both layouts, and WordNet's synsets."""

from pathlib import Path

import pytest

from foundation.errors import DataError
from tasks.lexicon.synonyms import Synonyms
from tests.factories.published_data import published


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


def test_wordnets_synsets_are_symmetric() -> None:
    found = Synonyms(path=str(published("supersense/oewn/lemma_lexnames.tsv.xz"))).read()
    assert "movie" in found["film"]
    assert all(word in found[other] for word in ("film", "good", "run") for other in found[word])
