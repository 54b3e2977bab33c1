"""The comparison of both engines finds a table that differs and a run that fails, and computes shared stages once."""

import subprocess
from pathlib import Path

import pytest

from tools import engines_agree

EXPERIMENT = engines_agree.EXPERIMENTS / "bert" / "table5.yaml"


def tables(monkeypatch: pytest.MonkeyPatch, content: dict[str, str], failing: str = "") -> list[list[str]]:
    """Let a run write its engine's content, and a shared stage where there is none; return the commands."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        commands.append(command)
        engine, results = command[command.index("--engine") + 1], Path(command[-1])
        stage = results.parent / "stages" / "corpus" / "made"
        assert stage.is_file() == (engine == "ray")
        for file, text in ((stage, "text"), (results / engines_agree.TABLE, content[engine])):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return subprocess.CompletedProcess(command, int(engine == failing), "", "out of memory")

    monkeypatch.setattr(engines_agree.subprocess, "run", run)
    return commands


def test_equal_tables_agree_and_the_second_engine_gets_the_shared_stages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands = tables(monkeypatch, {"local": "a,b", "ray": "a,b"})
    assert engines_agree.disagreement(EXPERIMENT, tmp_path) == ""
    assert [str(EXPERIMENT) in command for command in commands] == [True, True]


def test_a_table_that_differs_and_a_run_that_fails_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tables(monkeypatch, {"local": "a,b", "ray": "a,c"})
    assert engines_agree.disagreement(EXPERIMENT, tmp_path / "one") == "report.csv differs"
    tables(monkeypatch, {"local": "a,b", "ray": "a,b"}, failing="ray")
    assert engines_agree.disagreement(EXPERIMENT, tmp_path / "two") == "ray: exit 1: out of memory"
    assert engines_agree.main([str(EXPERIMENT)]) == 1


def test_every_experiment_that_trains_is_compared() -> None:
    found = {path.relative_to(engines_agree.EXPERIMENTS).as_posix() for path in engines_agree.trained_experiments()}
    assert {"table2.yaml", "bert/table5.yaml", "bart/table1.yaml", "evolved/tabulated/tournament.yaml"} <= found
    assert "table9.yaml" not in found
