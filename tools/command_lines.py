"""The commands as `--help` shows them, for `docs/commands.md`."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from steeplechase.commands.main import COMMANDS, DISTRIBUTION, imported


class CommandLine(NamedTuple):
    """A command, or a command of a command."""

    usage: str
    summary: str
    parameters: list[tuple[str, str]]
    """Arguments and options as they are written, each with its help."""


def command_groups() -> Iterator[tuple[str, list[CommandLine]]]:
    """Yield every group of the help with its commands."""
    for group, names in groupby(COMMANDS, key=lambda name: COMMANDS[name].group):
        yield group, [line for name in names for line in _lines(imported(name), f"{DISTRIBUTION} {name}")]


def _lines(command: Any, usage: str) -> Iterator[CommandLine]:
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        context = command.make_context(usage, [], resilient_parsing=True)
        records = [record for each in command.params if (record := each.get_help_record(context))]
        arguments = [written.split()[0] for written, _ in records if not written.startswith("-")]
        yield CommandLine(" ".join([usage, *arguments]), command.help or "", records)
    for name, each in inner.items():
        yield from _lines(each, f"{usage} {name}")
