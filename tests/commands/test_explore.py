"""`explore` writes one page beside the results, or says what is missing."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steeplechase.commands.explore import PAGE, explore
from steeplechase.foundation.errors import ConflictError, MachineError
from tests.factories.paths import ROOT

SEARCH = ROOT / "reports" / "published" / "search-laptop"


def test_the_page_is_made_from_published_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotly", reason="the extra `explore` is not installed")
    explore(SEARCH, tmp_path / PAGE)
    assert capsys.readouterr().out == f"{tmp_path / PAGE}\n"
    text = (tmp_path / PAGE).read_text("utf-8")
    assert "candidate-014" in text
    assert not (SEARCH / PAGE).exists()


def test_a_file_of_the_users_is_never_replaced(tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="the extra `explore` is not installed")
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(ConflictError, match="already exists and is no page of `explore`"):
        explore(SEARCH, notes)
    assert notes.read_text() == "mine"
    for _ in range(2):  # its own page is
        explore(SEARCH, tmp_path / PAGE)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_never_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    pytest.importorskip("plotly", reason="the extra `explore` is not installed")
    make(tmp_path / "taken")
    for path in (tmp_path / "taken", Path()):
        with pytest.raises(ConflictError, match="already exists and is no file"):
            explore(SEARCH, path)
    assert not (tmp_path / "taken").is_file()


def test_without_the_extra_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MachineError, match=r"pip install 'steeplechase\[explore\]'"):
        explore(SEARCH, tmp_path / PAGE)
    assert not [*tmp_path.iterdir()]
