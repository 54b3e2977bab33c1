"""The script of the screens: it makes every picture of docs/screens, and says what it needs."""

from pathlib import Path

import pytest

from tests.factories.paths import ROOT
from tools import screens


def test_every_picture_of_the_documentation_is_made_by_the_script() -> None:
    made = {screen.name for screen in screens.report_screens(Path("/report.html"), Path("/explore.html"))}
    source = Path(screens.__file__).read_text("utf-8")
    pictures = {picture.stem for picture in (ROOT / "docs" / "screens").glob("*.png")}
    others = pictures - made
    assert made < pictures
    assert len(others) == 3
    assert all(f'"{name}"' in source for name in others)


def test_without_a_browser_it_says_which_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert screens.main([str(tmp_path / "results"), "--out", str(tmp_path / "out")]) == 5
    assert "needs one of chromium, chromium-browser, google-chrome" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
