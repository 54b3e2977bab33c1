"""`steeplechase data`: lists, fetches and verifies; every failure has an exit code and one line per fault."""

import json
import sys
from pathlib import Path

import pytest

from steeplechase.tasks.data_folder import HINT, VARIABLE
from steeplechase.tasks.data_sets.registry import data_sets
from tests.factories.command_calls import TABLE, Call
from tests.factories.published_data import published

SHAKESPEARE = "text/tinyshakespeare/input.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty data folder that the variable names."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "sets"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "sets"


@pytest.fixture
def shakespeare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the one file of a data folder that has one whole data set."""
    content = published(SHAKESPEARE).read_bytes()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "sets"))
    path = tmp_path / "sets" / SHAKESPEARE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_every_data_set_is_listed_with_what_is_known_and_what_is_not(call: Call, folder: Path) -> None:
    answer = call("data")
    assert (answer.code, answer.err) == (0, "")
    lines = {line.split()[0]: line for line in answer.out.splitlines() if line.strip()}
    for name, data_set in data_sets().items():
        assert data_set.sha256[:12] in lines[name]
        assert "absent" in lines[name]
        assert ("unknown" in lines[name]) == (data_set.licence is None)
    assert f"0 of {len(data_sets())} are in {folder}" in answer.out
    assert not folder.exists()


def test_existing_data_sets_are_verified(call: Call, shakespeare: Path) -> None:
    for names in ((), ("tinyshakespeare",)):
        answer = call("data", "verify", *names)
        assert (answer.code, answer.err) == (0, "")
        assert "verified tinyshakespeare" in answer.out
    (only,) = json.loads(call("data", "verify", "--json").out)["data_sets"]
    assert (only["name"], only["state"], only["faults"]) == ("tinyshakespeare", "verified", [])
    assert f"1 of {len(data_sets())} are in" in call("data").out


def test_a_missing_data_set_is_an_error_only_if_it_is_named(call: Call, shakespeare: Path) -> None:
    answer = call("data", "verify", "tinyshakespeare", "wikitext_2", "bert_base_uncased")
    assert answer.code == 4
    assert [line.partition(": ")[2] for line in answer.err.splitlines()] == [
        "is missing (wikitext_2)",
        "is missing (wikitext_2)",
        "is missing (bert_base_uncased)",
        "is missing (bert_base_uncased)",
    ]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_damaged_file_has_its_own_exit_code_and_is_unchanged(
    call: Call, shakespeare: Path, form: tuple[str, ...]
) -> None:
    content = bytearray(shakespeare.read_bytes())
    content[1000] ^= 1
    shakespeare.write_bytes(content)
    answer = call("data", "verify", *form)
    assert answer.code == 7
    (line,) = answer.err.splitlines()
    assert line.startswith(f"{shakespeare}: sha256 ")
    assert data_sets()["tinyshakespeare"].sha256[:12] in line
    assert shakespeare.read_bytes() == content
    assert "verify tinyshakespeare" in call("data").out


def test_an_unknown_name_is_an_error_with_the_most_similar_one(call: Call, folder: Path) -> None:
    for command in ("fetch", "verify"):
        answer = call("data", command, "colla", "rte", "sqaud_v1_1")
        assert (answer.code, answer.out) == (3, "")
        assert [line.rpartition("Did you mean ")[2] for line in answer.err.splitlines()] == ["cola?", "squad_v1_1?"]


def test_unfetchable_data_sets_are_reported_before_any_is_fetched(call: Call, folder: Path) -> None:
    answer = call("data", "fetch", "cola", "wikipedia_en_2015", "taskset")
    assert (answer.code, answer.out) == (4, "")
    first, second = answer.err.splitlines()
    assert first.startswith("wikipedia_en_2015: is not fetched by this command; get it from ")
    assert second.endswith(str(folder / "curves/taskset"))
    assert not folder.exists()


def test_without_the_extra_fetching_says_how_to_install_it(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # what Python does where it is not installed
    answer = call("data", "fetch", "cola")
    assert (answer.code, answer.out) == (5, "")
    assert (
        answer.err
        == "steeplechase data fetch needs the extra `datasets`; run: pip install 'steeplechase[datasets]', "
        "or in a checkout pip install -e '.[datasets]'\n"
    )
    assert not folder.exists()


def test_an_experiment_without_its_data_ends_with_how_to_find_them(call: Call, folder: Path, tmp_path: Path) -> None:
    answer = call("run", TABLE, "--scale", "wikipedia", "--out", tmp_path / "results")
    assert (answer.code, answer.out) == (4, "")
    *faults, hint = answer.err.splitlines()
    assert hint == HINT
    place, path, fault = faults[0].partition(str(folder / "text/wikipedia_en_2015"))
    assert fault.startswith(": no such file or folder; "), (place, path)
    assert len(faults) == 7  # the text and six tasks
    assert not (tmp_path / "results").exists()
    plan = call("plan", TABLE, "--scale", "wikipedia", "--out", tmp_path / "results")
    assert plan.code == 4
    assert "`steeplechase data`" in plan.out
