"""An experiment that only measures latencies by the commands: plan, run, run again, report, and every refusal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.factories.command_calls import ROOT, TABLE, Call

TABLE9 = ROOT / "experiments" / "table9.yaml"
TIMES = ("run", TABLE9, "--scale", "smoke", "--set", "measure.latency.rounds=3", "--out")
REPORTS = {"report.html", "report.md", "report.tex", "report.csv", "report.json", "figures", "tables"}


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the smoke scale of Table 9 has been timed."""
    folder = tmp_path_factory.mktemp("timed") / "table9"
    command = [sys.executable, "-m", "steeplechase.commands.main", *map(str, (*TIMES, folder))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "table9 (smoke)" in done.stdout
    assert "[2/2] shared latency n = 64: attention " in done.stderr
    return folder


def test_plan_tells_operations_before_anything_is_timed(call: Call, tmp_path: Path) -> None:
    answer = call("plan", TABLE9, "--scale", "laptop", "--json")
    document = json.loads(answer.out)
    assert (answer.code, document["experiment"], document["timed"]["part"]) == (0, "table9", "attention")
    arms = {arm["name"]: arm for arm in document["timed"]["arms"]}
    assert next(iter(arms)) == "attention"
    assert {name: round(ratio, 3) for name, ratio in arms["mixed"]["flops_ratio"].items()} == {
        "64": 0.873,
        "128": 0.858,
        "256": 0.833,
        "512": 0.791,
        "1024": 0.733,
    }
    assert set(arms["bottleneck"]["flops_ratio"].values()) == {0.5}
    shown = call("plan", TABLE9)
    assert shown.code == 0
    for word in ("table9 at scale demo", "mixed", "(0.791)", "matmul"):
        assert word in shown.out


def test_a_run_leaves_the_ledger_and_every_report(timed: Path) -> None:
    assert REPORTS | {"ledger.sqlite", "stages", "lock"} <= {path.name for path in timed.iterdir()}


def test_a_published_report_is_the_same_and_can_be_rebuilt_from_its_rows(
    call: Call, timed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "table9-smoke"
    assert call("publish", timed, out).code == 0
    assert (out / "report.md").read_bytes() == (timed / "report.md").read_bytes()
    (out / "report.md").unlink()
    assert call("rebuild", out).code == 0
    assert (out / "report.md").read_bytes() == (timed / "report.md").read_bytes()


def test_folders_of_the_two_kinds_are_not_mixed_up(call: Call, timed: Path, results: Path) -> None:
    assert call("run", TABLE, "--scale", "smoke", "--out", timed).code == 6
    assert call(*TIMES, results).code == 6
    assert call("run", TABLE9, "--scale", "demo", "--out", timed).code == 6


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", TABLE9, "--scale", "smoke", "--engine", "ray"), 3, ["timed on this machine", "--engine"]),
        (
            ("run", TABLE9, "--scale", "smoke", "--reuse", "results", "--stop-after-tokens", "1e6"),
            3,
            ["leave --reuse, --stop-after-tokens out"],
        ),
    ],
)
def test_every_kind_of_failure_has_its_exit_code(
    call: Call, arguments: tuple[str | Path, ...], code: int, words: list[str]
) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert all(word in answer.err for word in words)


def test_there_is_no_model_to_export(call: Call, timed: Path, tmp_path: Path) -> None:
    answer = call("export", timed, tmp_path / "model")
    assert (answer.code, answer.out) == (3, "")
    assert "has no trained model" in answer.err
