"""`steeplechase`: the command line. User errors become one line each and an exit code, never a traceback.

A command's module is imported when the command is called, so that the others cost it no time; the list of commands
imports none.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup

from foundation.errors import MachineError, UserError

DISTRIBUTION = "steeplechase"
EXPERIMENTS, REPORTS = "Experiments", "Reports and results"
MODELS, TASKS, FILES = "Models", "Published tasks", "Writing experiments"


class Command(NamedTuple):
    """A command: its group in the help, its function or application as module:name, and its first line of help."""

    group: str
    target: str
    summary: str


COMMANDS = {
    "plan": Command(
        EXPERIMENTS,
        "commands.plan:plan",
        "Show every arm, its difference from the baseline, its costs, its uses and its cached stages.",
    ),
    "run": Command(EXPERIMENTS, "commands.run:run", "Run or resume an experiment, and report its results."),
    "report": Command(
        EXPERIMENTS, "commands.report:report", "Print the report of a results folder, finished or not."
    ),
    "ui": Command(EXPERIMENTS, "commands.ui:ui", "Browse the runs in MLflow; Ctrl-C ends it."),
    "pilot": Command(
        REPORTS,
        "commands.pilot:pilot",
        "Print each task's scores beside chance, bag of words, n-gram model and untrained encoder, "
        "and which qualify.",
    ),
    "publish": Command(
        REPORTS,
        "commands.publish:publish",
        "Export a results folder's rows to OUT and build the report, its figures and tables there.",
    ),
    "rebuild": Command(
        REPORTS,
        "commands.publish:rebuild",
        "Rebuild published reports from their rows, and print which files changed.",
    ),
    "claims": Command(
        REPORTS,
        "commands.claims:claims",
        "Print the papers' claims with their verdicts as Markdown; OUT/claims.toml declares them.",
    ),
    "replay": Command(
        REPORTS,
        "commands.replay:replay_command",
        "Replay a search policy on recorded curves and print its normalised regret.",
    ),
    "describe": Command(
        MODELS,
        "commands.describe:describe",
        "Show an architecture's parameters, FLOPs, memory and receptive field, by component.",
    ),
    "export": Command(
        MODELS,
        "commands.export:export",
        "Write a model that transformers' AutoModel and AutoTokenizer load with equal outputs.",
    ),
    "import": Command(
        MODELS,
        "commands.import_:import_",
        "Import a BERT, RoBERTa, ALBERT, ELECTRA or ConvBERT as an initial checkpoint.",
    ),
    "score": Command(
        TASKS,
        "commands.score:score",
        "Score a file of predictions by the task's official metrics, under their official names.",
    ),
    "submission": Command(
        TASKS,
        "commands.submission:submission",
        "Write a trial's predictions on GLUE's unlabelled test sets in the format of its leaderboard.",
    ),
    "data": Command(
        TASKS,
        "commands.data:application",
        "List the published data sets: size, source, licence, sha256 and state.",
    ),
    "schema": Command(
        FILES,
        "commands.schema:schema",
        "Print the JSON schema of experiment files; experiments/schema.json is this.",
    ),
}
"""Commands by name, in the order of use."""


class LazyGroup(TyperGroup):
    """The group of all commands; it holds their first lines of help, and imports the command that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name of a command, the command and its arguments. Raises UsageError for an unknown name."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else imported(name), rest


def imported(name: str) -> Any:
    """Return a command with its parameters, after importing its module."""
    module, _, attribute = COMMANDS[name].target.partition(":")
    target = getattr(import_module(module), attribute)
    alone = typer.Typer()
    if isinstance(target, typer.Typer):
        alone.add_typer(target, name=name)
    else:
        alone.command(name)(target)
    return typer.main.get_group(alone).commands[name]


def _not_imported() -> None:
    """Stands for every command in the list of all."""


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
    application.command(_name, help=_command.summary, rich_help_panel=_command.group)(_not_imported)

INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit with the code of the outcome."""
    try:
        try:
            application()
        finally:
            if sys.stdout is not None:  # None if it was closed before the start
                sys.stdout.flush()  # reports a full disk while the exit code can still be set
    except UserError as refusal:
        _leave(refusal)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe
        _let_go_of_output()
        sys.exit(0)
    except OSError as error:
        if error.errno is None:
            raise
        place = error.filename2 or error.filename or "the output, or a file without a name"
        _let_go_of_output()
        _leave(MachineError(f"{place}: {error.strerror}"))


def _leave(refusal: UserError) -> NoReturn:
    with suppress(OSError):  # a closed terminal (SIGHUP) does not change the exit code
        for line in refusal.lines:
            print(line, file=sys.stderr)  # noqa: T201 — the only place that prints user errors
    sys.exit(refusal.exit_code)


def _let_go_of_output() -> None:
    """Detach the standard output, so that the interpreter does not retry a failed write at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
