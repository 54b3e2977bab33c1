"""Commands that read a results folder: one that cannot be written to, `compare` and `explore`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reports.formats.markdown import without_figures
from steeplechase.commands.explore import PAGE, explore
from steeplechase.foundation.errors import ConflictError, MachineError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from tests.factories.command_calls import ROOT, TABLE, Call, listed

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
CALLS = """
import json, sys
from steeplechase.commands.main import main
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["steeplechase", *arguments]
    try:
        main()
    except SystemExit as end:
        codes.append(end.code or 0)
print(codes, file=sys.stderr)
"""


def read_only(folder: Path, *commands: tuple[str | Path, ...]) -> tuple[list[int], str, str]:
    """Run commands in one process that sees a folder mounted read-only; return their codes and what they told.

    Permissions alone do not bind root.
    """
    asked = json.dumps([[*map(str, arguments)] for arguments in commands])
    command = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(folder), sys.executable, "-c", CALLS, asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"this machine mounts nothing read-only here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told, _, codes = done.stderr.strip().rpartition("\n")
    return json.loads(codes), done.stdout, told


@contextmanager
def killed(results: Path, folder: Path) -> Iterator[None]:
    """A run was killed: what it last wrote lies in the log."""
    with alive(results, folder / "alive"):
        for name in (LEDGER_NAME, f"{LEDGER_NAME}-wal"):
            shutil.copy(folder / "alive" / name, folder)
    shutil.rmtree(folder / "alive")
    yield


@contextmanager
def alive(results: Path, folder: Path) -> Iterator[None]:
    """A run goes on: it has the ledger open."""
    folder.mkdir(exist_ok=True)
    shutil.copy(results / LEDGER_NAME, folder)
    with closing(Ledger(folder / LEDGER_NAME)) as ledger:
        ledger.set_fact("importance", {"width": 0.25})
        yield


def test_every_command_that_reads_a_ledger_reads_one_that_cannot_be_written_to(results: Path, tmp_path: Path) -> None:
    """Of a finished run, of one that goes on, and of one that was killed."""
    folder, trial = tmp_path / "kept", ("--trial", "nobody/1")
    finished = Path(shutil.copytree(results, folder / "finished"))
    states = {"killed": killed, "alive": alive}
    for name in states:
        (folder / name).mkdir()
    with killed(results, folder / "killed"), alive(results, folder / "alive"):
        before = listed(folder)
        for name in states:
            with closing(Ledger.at(folder / name)) as ledger:
                assert ledger.fact("importance") is not None
        codes, printed, told = read_only(
            folder,
            *(("report", folder / name, "--format", "markdown") for name in states),
            *(("publish", folder / name, tmp_path / name) for name in states),
            ("ui", finished),
            ("ui", folder / "absent"),
            ("export", finished, tmp_path / "out", *trial),
            ("submission", finished, tmp_path / "out.zip", *trial),
            ("plan", TABLE, "--scale", "smoke", "--out", finished),
            ("replay", finished, "--seeds", "1", "--budget", "1"),
        )
        locks = {f"{name}/{LEDGER_NAME}-shm": None for name in states}  # of those who read
        assert {**listed(folder), **locks} == {**before, **locks}
    assert codes == [0, 0, 0, 0, 5, 5, 3, 3, 0, 0], told
    for name in states:
        assert without_figures((tmp_path / name / "report.md").read_text()) in printed
    assert "absent: no ledger here" in told
    assert "mlflow.db: no runs to browse" in told  # the ledger is read; a mirror was never made
    assert told.count("nobody/1") == 2


PUBLISHED = ROOT / "reports" / "published"


WIKIPEDIA = PUBLISHED / "table2-wikipedia"


def test_the_named_arms_are_compared_on_the_headline_metrics(call: Call) -> None:
    answer = call("compare", WIKIPEDIA, "span_dynamic", "dynamic", "depthwise", "--format", "json")
    assert answer.code == 0, answer.err
    (table,) = json.loads(answer.out)["tables"]
    shown = [(row["arm"], row["reference"], row["metric"]) for row in table["rows"]]
    pairs = [("span_dynamic", "dynamic"), ("span_dynamic", "depthwise"), ("dynamic", "depthwise")]
    assert shown == [(*pair, "held_out_loss") for pair in pairs]  # SQuAD is below its references
    assert all(row["p_adjusted"] >= row["p"] for row in table["rows"])


def test_all_wrong_names_are_refused_at_once_with_suggestions(call: Call) -> None:
    answer = call("compare", WIKIPEDIA, "span_dynamc", "dynamic", "dynamic", "--metric", "squad")
    assert answer.code == 3
    assert answer.out == ""
    arm, twice, metric = answer.err.splitlines()
    assert arm.endswith("Did you mean span_dynamic?")
    assert metric.startswith("'squad' is not a metric; allowed: held_out_loss, squad_v1_1")
    assert twice == "'dynamic' is named twice"


def test_what_has_no_two_arms_is_refused(call: Call, tmp_path: Path) -> None:
    timed = call("compare", PUBLISHED / "table9-laptop")
    assert (timed.code, timed.out) == (4, "")
    assert "no model is trained; `steeplechase report` has its comparisons" in timed.err
    missing = call("compare", tmp_path / "nowhere")
    assert missing.code != 0
    assert len(missing.err.splitlines()) == 1


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
