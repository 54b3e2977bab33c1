"""The data folder: `data`, or the value of the variable; other paths are unchanged."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.data_folder import HINT, VARIABLE, data_folder, resolved, with_paths_as_in
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.tokenizer import GivenVocabulary
from tests.factories.glue_folders import write_table
from tests.factories.task_files import files_of


@pytest.mark.parametrize(
    ("value", "folder"), [(None, "data"), ("", "data"), ("/mnt/sets", "/mnt/sets"), ("..", "..")]
)
def test_the_data_folder_is_the_variable_or_data(
    value: str | None, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert data_folder() == Path(folder)
    for spelling in (f"${VARIABLE}", f"${{{VARIABLE}}}"):
        assert resolved(spelling) == Path(folder)
        assert resolved(f"{spelling}/text/a.txt") == Path(folder, "text/a.txt")


@given(st.text(st.characters(exclude_characters="\0~$", exclude_categories=["Cs"])))
def test_other_paths_are_unchanged(path: str) -> None:
    assert resolved(path) == Path(path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~/text", "/home/anna/text"),
        ("$SETS/a", "/mnt/sets/a"),
        ("${SETS}_2/a", "/mnt/sets_2/a"),
        (f"a/${VARIABLE}", "a/mnt/data"),
        (f"${VARIABLE}/$SETS.txt", "/mnt/data/mnt/sets.txt"),
        ("a~b", "a~b"),
        ("costs$2/a", "costs$2/a"),
        (VARIABLE, VARIABLE),
    ],
)
def test_home_and_variables_are_expanded(path: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOME": "/home/anna", "SETS": "/mnt/sets", VARIABLE: "/mnt/data"}.items():
        monkeypatch.setenv(name, value)
    assert str(resolved(path)).replace("//", "/") in (expected, expected.replace("/mnt/data/mnt", "/mnt"))


@pytest.mark.parametrize("path", ["$NO_SUCH/a", f"${VARIABLE}S/a", "a/${NO_SUCH}"])
def test_a_variable_that_is_not_set_is_named(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"^[^\n]*: the environment variable \w+ is not set$"):
        resolved(path)
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).touch()
    assert resolved(path) == Path(path)
    assert with_paths_as_in({"path": "$NO_SUCH/b"}, {"path": "b"}) == {"path": "$NO_SUCH/b"}


def test_the_identity_of_data_does_not_depend_on_the_spelling_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (tmp_path / "text").mkdir()
    (tmp_path / "text/a.txt").write_text("a text\n")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]))
    for part in ("train", "dev"):
        write_table("rte", tmp_path / "RTE" / f"{part}.tsv", 4)
    for name, kind in (("text", TextFilesCorpus), ("vocab.txt", GivenVocabulary)):
        assert kind(path=f"${VARIABLE}/{name}").inputs() == kind(path=str(tmp_path / name)).inputs()
    rte, within = files_of("rte"), FolderOfTasks(path=f"${VARIABLE}")
    assert within.inputs(rte) == FolderOfTasks(path=str(tmp_path)).inputs(rte)
    assert within.parts(rte) == FolderOfTasks(path=str(tmp_path)).parts(rte)


@pytest.mark.parametrize("path", [f"${VARIABLE}/nowhere", "nowhere"])
def test_missing_data_are_reported_with_folder_and_hint(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    corpus, files = TextFilesCorpus(path=path), files_of("rte")
    for ask in (
        corpus.check_exists,
        corpus.inputs,
        GivenVocabulary(path=path).inputs,
        lambda: FolderOfTasks(path=path).located(files),
    ):
        with pytest.raises(DataError) as refused:
            ask()
        assert refused.value.lines[0].startswith(f"{resolved(path)}: ")
        assert refused.value.lines[1:] == (HINT,)
    assert f"${VARIABLE}" in HINT
    assert "`steeplechase data`" in HINT


def test_two_spellings_of_a_path_are_equal_and_two_paths_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "sets"))
    monkeypatch.chdir(tmp_path)
    former = {"corpus": {"kind": "text_files", "path": "sets/text"}, "tokens": 3, "tasks": ["cola"]}
    now = {"corpus": {"kind": "text_files", "path": f"${VARIABLE}/text"}, "tokens": 3, "tasks": ["cola"]}
    assert with_paths_as_in(former, now) == now
    assert with_paths_as_in(now, former) == former
    other = {**former, "corpus": {"kind": "text_files", "path": "sets/other"}}
    assert with_paths_as_in(other, now) == other
    for none in (None, {}, {"corpus": None}, {"corpus": {"path": None}}, [1]):
        assert with_paths_as_in(former, none) == former
        assert with_paths_as_in(none, former) == none
