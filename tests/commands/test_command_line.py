"""The command line: version, completion, help that shows every choice, and what is printed in any encoding."""

import io
import sys
from importlib.metadata import version

import pytest

from reports.formats import format_names, render
from reports.report import build
from runners.replay.settings import SEARCHES
from search_space.cost import CONVENTIONS
from steeplechase.commands.main import COMMANDS, imported, summary_of
from steeplechase.commands.report import TERMINAL, print_report
from tests.factories.command_calls import Call
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
