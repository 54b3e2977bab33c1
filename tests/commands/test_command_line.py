"""The command line: version, completion, help, printing in any encoding, closed pipes, and what is imported."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

import pytest

from reports.formats import format_names, render
from reports.report import build
from runners.replay.settings import SEARCHES
from runners.settings import RunSettings
from search_space.cost import CONVENTIONS
from steeplechase.commands.main import COMMANDS, imported, summary_of
from steeplechase.commands.output import readers_may_go
from steeplechase.commands.report import TERMINAL, print_report
from tests.factories.command_calls import MAIN, TABLE, Call
from tests.factories.import_check import HEAVY, NUMERICAL, imported_after
from tests.factories.paths import EXPERIMENTS, PUBLISHED, ROOT
from tests.factories.reports import table2


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")


def test_the_version_is_that_of_the_distribution(call: Call) -> None:
    answer = call("--version")
    assert (answer.code, answer.out) == (0, f"steeplechase {version('steeplechase')}\n")


def test_commands_are_listed_in_the_order_of_their_use_and_completion_is_offered(call: Call) -> None:
    out = call("--help").out
    places = [out.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert [*COMMANDS][:3] == ["plan", "run", "report"]
    assert "--install-completion" in out


def test_the_list_of_commands_shows_the_first_line_of_each_commands_help(call: Call) -> None:
    shown = " ".join(call("--help").out.replace("│", " ").split())
    for name in COMMANDS:
        command = imported(name)
        first_paragraph = " ".join(command.help.partition("\n\n")[0].split())
        assert (command.name, summary_of(name)) == (name, first_paragraph)
        assert first_paragraph in shown


@pytest.mark.parametrize(
    ("command", "choices"),
    [("report", format_names()), ("replay", (*SEARCHES, "list")), ("plan", CONVENTIONS), ("describe", CONVENTIONS)],
)
def test_an_option_with_choices_shows_them(call: Call, command: str, choices: tuple[str, ...]) -> None:
    out = call(command, "--help").out
    assert all(choice in out for choice in choices)


@pytest.mark.parametrize("form", format_names())
def test_a_printed_report_is_whole_whatever_the_encoding_of_standard_output(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = io.BytesIO()
    with io.TextIOWrapper(printed, encoding="ascii") as output:
        monkeypatch.setattr(sys, "stdout", output)
        report = build(table2())
        print_report(report, form)
        output.flush()
        text = printed.getvalue().decode("ascii" if form == TERMINAL else "utf-8")
        assert text == render(report, form)


@contextmanager
def closed_pipe() -> Iterator[TextIO]:
    """Give a pipe to write to whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    pipe = open(writer, "w", encoding="utf-8", buffering=1)  # noqa: PTH123, SIM115 — a descriptor, closed below
    yield pipe
    with suppress(BrokenPipeError):  # of what is left in its buffer
        pipe.close()


def ended(*command: str | Path) -> tuple[int, str]:
    """Return the exit code of a process without a reader, and what it says on the error stream."""
    with closed_pipe() as pipe:
        done = subprocess.run(
            [*map(str, command)], cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    return done.returncode, done.stderr


def test_a_command_whose_reader_goes_has_done_its_work() -> None:
    assert ended(*MAIN, "plan", EXPERIMENTS / "table9.yaml", "--json") == (0, "")


def test_what_follows_an_unread_output_is_done() -> None:
    used = f"from {readers_may_go.__module__} import {readers_may_go.__name__} as allowed"
    script = f"{used}\nimport sys\nwith allowed():\n    print('brief', flush=True)\nprint('later')\nsys.exit(8)"
    assert ended(sys.executable, "-c", script) == (8, "")


def test_a_run_whose_progress_nobody_reads_is_stopped_and_resumable(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_pipe() as pipe:
        monkeypatch.setattr(sys, "stderr", pipe)
        short = ("--set", "pretraining.tokens=2000")  # warned of in the first line
        answer = call("run", TABLE, "--scale", "smoke", *short, "--out", tmp_path / "results")
    assert (answer.code, answer.out) == (75, "")
    assert not [*(tmp_path / "results" / "stages").glob("pretrain/*")]


MODULES = {command.place[0] for command in COMMANDS.values()}


SLOWEST = {"torch", "ray", "mlflow"}


def test_commands_import_nothing_heavy_before_they_need_it(results: Path, tmp_path: Path) -> None:
    """One process, so that the modules of each command are those of all before it too."""
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    plans = [
        ("plan", EXPERIMENTS / f"{name}.yaml", "--scale", scale, "--json")
        for name, scale in (("table2", "smoke"), ("table2", "paper"), ("tuned", "smoke"), ("table9", "smoke"))
    ]
    without_any = [("describe", TABLE), ("data", "--json"), ("plan", empty)]
    without_slowest = [
        ("run", empty),
        ("run", TABLE, "--scale", "demo", "--out", results),
        *(("report", folder) for folder in (results, PUBLISHED / "table9-laptop")),
    ]
    (code, listing), *found = imported_after(("--help",), *plans, *without_any, *without_slowest)
    assert code == 0
    assert listing & {*HEAVY, *NUMERICAL, *MODULES} == set()
    assert not {name for name in listing if name.startswith(("pydantic", "search_space.", "reports."))}
    planned, others = found[: len(plans)], found[len(plans) :]
    for code, loaded in planned:
        assert code in (0, 4)  # 4 without the data
        assert loaded & {*HEAVY, *NUMERICAL} == set()
        assert loaded & MODULES == {"steeplechase.commands.plan"}
    assert [code for code, _ in others] == [0, 0, 3, 3, 6, 0, 0]
    assert not [imported & {*HEAVY} for _, imported in others[: len(without_any)] if imported & {*HEAVY}]
    assert not others[-1][1] & SLOWEST


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        (RunSettings(), ""),
        (RunSettings(workers=20, reuse=(Path("before"),)), " --reuse before --workers 20"),
        (RunSettings(engine="ray", workers=2), " --engine ray"),
        (RunSettings(arms="baseline,k 3", overrides=("a=1", "b=2")), " --set a=1 --set b=2 --arms 'baseline,k 3'"),
        (
            RunSettings(stop_after=5400.0, stop_after_tokens=1234567.0),
            " --stop-after 5400s --stop-after-tokens 1234567",
        ),
        (RunSettings(out=Path("here"), store="s3://bucket", engine="ray", address="a:1"), " --engine ray"),
    ],
)
def test_a_command_to_repeat_has_the_flags_that_are_not_at_their_defaults(settings: RunSettings, given: str) -> None:
    assert settings.command(Path("mine.yaml"), "demo") == f"steeplechase run mine.yaml --scale demo{given}"
