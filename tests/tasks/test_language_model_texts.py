"""Texts of the language-model measurement: articles, words, characters, and files that are no such text."""

from pathlib import Path

import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.language_model_texts import TEXT8_CHARACTERS, LanguageModelText
from tests.factories.published_data import published

WIKITEXT = """
 = First article =

 Two words here .

 = = Section = =

 More .
 = Second article =

 The end @-@ note .
"""


def text(folder: Path, content: str, layout: str = "plain") -> LanguageModelText:
    (folder / "text").write_text(content, encoding="utf-8")
    return LanguageModelText.model_validate({"path": str(folder / "text"), "layout": layout})


def test_articles_begin_at_their_headings_and_every_word_counts(tmp_path: Path) -> None:
    read = text(tmp_path, WIKITEXT, "wikitext").read()
    assert [document.split()[1] for document in read.documents] == ["First", "Second"]
    assert read.words == len(WIKITEXT.split())
    assert "Section" in read.documents[0]


@pytest.mark.parametrize("title", ["M", "Io", "A = B"])
def test_an_article_begins_at_a_title_of_any_length(title: str, tmp_path: Path) -> None:
    written = f" = First = \n words\n = {title} = \n more\n = = Section = = \n words\n"
    read = text(tmp_path, written, "wikitext").read()
    assert [document.splitlines()[0].strip() for document in read.documents] == ["= First =", f"= {title} ="]


def test_the_words_of_wikitext_2_are_those_of_the_paper() -> None:
    """Merity et al. 2016, Table 1: 245,569 test tokens, which include the end of each of its 4,358 lines."""
    path = published("text/wikitext-2/test.txt")
    read = LanguageModelText(path=str(path), layout="wikitext").read()
    assert read.words + len(path.read_text().splitlines()) == 245_569
    assert len(read.documents) > 50


def test_text8_is_one_line_of_letters_whose_last_twentieth_is_the_test_set(tmp_path: Path) -> None:
    assert text(tmp_path, "anarchism originated as a term\n", "text8").read().characters == 30
    whole = "a " * (TEXT8_CHARACTERS // 2 - 1) + "bc"
    read = text(tmp_path, whole, "text8").read()
    assert (read.characters, read.documents[0][-3:]) == (5_000_000, " bc")


@pytest.mark.parametrize(
    ("content", "layout", "message"),
    [
        (b"ab C", "text8", "character 3 is 'C'; text8 has a to z and spaces alone. Did you mean layout: plain?"),
        (b"ab \xff", "plain", "byte 3 is not UTF-8"),
        (b" \n \r\n", "wikitext", "no text"),
    ],
)
def test_a_file_that_is_no_such_text_is_one_line(content: bytes, layout: str, message: str, tmp_path: Path) -> None:
    declared = text(tmp_path, "", layout)
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(DataError) as refusal:
        declared.read()
    assert refusal.value.lines == (f"{tmp_path / 'text'}: {message}",)


def test_the_identity_is_of_the_content_and_the_layout(tmp_path: Path) -> None:
    one = text(tmp_path, "some words")
    assert one.inputs() == text(tmp_path, "some words").inputs()
    assert one.inputs() != one.model_copy(update={"layout": "text8"}).inputs()
    before = one.inputs()
    text(tmp_path, "other words")
    assert one.inputs() != before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        LanguageModelText(path=str(tmp_path / "absent")).inputs()
    assert refusal.value.lines[0] == f"{tmp_path / 'absent'}: no such file"
