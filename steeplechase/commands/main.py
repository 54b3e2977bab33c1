"""`steeplechase`: the command line. User errors become one line each and an exit code, never a traceback.

A command's module is imported when the command is called, so that the others cost it no time; the list of commands
imports none.
"""

import ast
import gc
import os
import re
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup

from steeplechase.commands.output import let_go_of_output
from steeplechase.foundation.atomic_files import free_space
from steeplechase.foundation.errors import ConfigurationError, MachineError, ReportedError, UserError
from steeplechase.foundation.plugin_code import PLUGIN_FILES, explained, line_in_plugin

DISTRIBUTION = "steeplechase"
EXPERIMENTS, REPORTS = "Experiments", "Reports and results"
MODELS, TASKS, FILES = "Models", "Published tasks", "Writing experiments"


class Command(NamedTuple):
    """A command: its group in the help, and its function or application as module:name."""

    group: str
    target: str

    @property
    def place(self) -> tuple[str, str]:
        """The module and the name in it."""
        module, _, attribute = self.target.partition(":")
        return module, attribute


COMMANDS = {
    "plan": Command(EXPERIMENTS, "steeplechase.commands.plan:plan"),
    "run": Command(EXPERIMENTS, "steeplechase.commands.run:run"),
    "report": Command(EXPERIMENTS, "steeplechase.commands.report:report"),
    "ui": Command(EXPERIMENTS, "steeplechase.commands.ui:ui"),
    "compare": Command(REPORTS, "steeplechase.commands.report:compare"),
    "explore": Command(REPORTS, "steeplechase.commands.explore:explore"),
    "pilot": Command(REPORTS, "steeplechase.commands.report:pilot"),
    "publish": Command(REPORTS, "steeplechase.commands.publish:publish"),
    "rebuild": Command(REPORTS, "steeplechase.commands.publish:rebuild"),
    "claims": Command(REPORTS, "steeplechase.commands.publish:claims"),
    "search": Command(REPORTS, "steeplechase.commands.search:application"),
    "replay": Command(REPORTS, "steeplechase.commands.replay:replay_command"),
    "describe": Command(MODELS, "steeplechase.commands.describe:describe"),
    "export": Command(MODELS, "steeplechase.commands.export:export"),
    "import": Command(MODELS, "steeplechase.commands.import_:import_"),
    "generate": Command(MODELS, "steeplechase.commands.generate:generate"),
    "score": Command(TASKS, "steeplechase.commands.score:score"),
    "submission": Command(TASKS, "steeplechase.commands.submission:submission"),
    "data": Command(TASKS, "steeplechase.commands.data:application"),
    "experiments": Command(FILES, "steeplechase.commands.experiments:experiments"),
    "new": Command(FILES, "steeplechase.commands.new:new"),
    "init": Command(FILES, "steeplechase.commands.new:init"),
    "reference": Command(FILES, "steeplechase.commands.reference:reference"),
    "schema": Command(FILES, "steeplechase.commands.reference:schema"),
    "check": Command(FILES, "steeplechase.commands.check:check"),
}
"""Commands by name, in the order of use."""


def summary_of(name: str) -> str:
    """Return the first paragraph of a command's docstring, read from the source of its module without importing it.

    The callback of an application, in whose place the command is listed, is the function of the command's name.
    """
    module, attribute = COMMANDS[name].place
    source = (Path(__file__).parents[2] / module.replace(".", "/")).with_suffix(".py").read_bytes()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    (docstring,) = (ast.get_docstring(node) for node in functions if node.name in (attribute, name))
    return " ".join((docstring or "").partition("\n\n")[0].split())


class LazyGroup(TyperGroup):
    """The group of all commands: imports the one that is called, reads the help of all where it is listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, each with its help."""
        for name, command in self.commands.items():
            command.help = command.help or summary_of(name)
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name of a command, the command and its arguments. Raises UsageError for an unknown name."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else imported(name), rest


def imported(name: str) -> Any:
    """Return a command with its parameters, after importing its module.

    What imports leave is never garbage: no collection visits it, then or later.
    """
    module, attribute = COMMANDS[name].place
    gc.disable()
    target = getattr(import_module(module), attribute)
    gc.freeze()
    gc.enable()
    alone = typer.Typer()
    if isinstance(target, typer.Typer):
        alone.add_typer(target, name=name)
    else:
        alone.command(name)(target)
    return typer.main.get_group(alone).commands[name]


def _not_imported() -> None:  # no docstring, since it would be the help of every command
    pass


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"{DISTRIBUTION} {version(DISTRIBUTION)}")  # noqa: T201 — the requested output
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Ablations and architecture search for pretrained text models."""


application = typer.Typer(
    name=DISTRIBUTION,
    cls=LazyGroup,
    callback=_options,
    help="Ablations and architecture search for pretrained text models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    application.command(_name, rich_help_panel=_command.group)(_not_imported)

INTERRUPTED = 130
LONGEST_DEFECT, LONGEST_LINE = 200, 4096  # characters
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line feeds


def main() -> None:
    """Run the command line and exit with the code of the outcome."""
    _prepare_streams()
    try:
        try:
            application()
        finally:
            sys.stdout.flush()  # reports a full disk while the exit code can still be set
    except ReportedError as error:
        _leave(error)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe
        _leave_reader()
    except SystemExit as ended:
        if not _ended_by_reader(ended):
            raise
        _leave_reader()
    except Exception as error:
        let_go_of_output()
        _leave(_unexpected(error))


def _unexpected(error: Exception) -> UserError:
    """Return a lack of the machine as its refusal, and everything else as a defect of this program."""
    if isinstance(error, MemoryError):
        return MachineError("out of memory: this process may have no more; give it more, or a smaller input")
    if isinstance(error, OSError) and error.errno is not None:
        file = error.filename2 or error.filename
        place, free = (file, free_space(error, Path(file))) if file else ("the output, or a file without a name", "")
        return MachineError(f"{place}: {error.strerror}{free}")
    if line_in_plugin(error) is not None:
        return ConfigurationError(
            f"{explained(error)}; a plugin's code: `steeplechase check` of its folder measures it"
        )
    return UserError(_defect_line(error))


def _defect_line(defect: Exception) -> str:
    """Write the traceback of a defect of this program to a temporary file; return the line that names it."""
    what = " ".join(f"{type(defect).__name__}: {defect}".split())[:LONGEST_DEFECT]
    if PLUGIN_FILES:
        what += "; if not caused by a value of a plugin, which `steeplechase check` of its folder finds"
    lines = traceback.format_exception(defect)
    with (
        suppress(OSError),
        NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", prefix=f"{DISTRIBUTION}-", suffix=".txt", delete=False
        ) as file,
    ):
        file.writelines(lines)
        return f"{what}; a defect of this program: please report it with its traceback, {file.name}"
    return f"{what}; a defect of this program: please report it. {' '.join(lines[-2].split())}"


def _prepare_streams() -> None:
    """Open the null device for closed streams, and escape characters that the encoding of an output lacks.

    A file that is opened later would otherwise get the number of a closed stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 — open until the process ends
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _ended_by_reader(ended: SystemExit) -> bool:
    """Return whether a closed pipe alone ended the command: typer and rich then end the process with 1."""
    cause = ended.__context__
    return isinstance(cause, BrokenPipeError) and cause.__context__ is None


def _leave_reader() -> NoReturn:
    let_go_of_output()
    sys.exit(0)


def _leave(error: ReportedError) -> NoReturn:
    with suppress(OSError):  # a closed terminal (SIGHUP) does not change the exit code
        for line in error.lines:
            shown = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line):,} characters)"
            printed = CONTROL.sub(lambda character: ascii(character[0])[1:-1], shown)  # of a file's name
            print(printed, file=sys.stderr)  # noqa: T201 — the only place that prints user errors
    sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
