"""`steeplechase`: the command line. Refusals become one line per mistake and an exit code, never a traceback."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from commands import (
    data,
    describe,
    export,
    import_,
    plan,
    publish,
    replay,
    report,
    run,
    schema,
    score,
    submission,
    ui,
)
from foundation.errors import MachineError, UserError

DISTRIBUTION = "steeplechase"
application = typer.Typer(
    name=DISTRIBUTION,
    help="Ablations and architecture search for pretrained text models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
EXPERIMENTS, REPORTS = "Experiments", "Reports and results"
MODELS, TASKS, FILES = "Models", "Published tasks", "Writing experiments"
COMMANDS: dict[str, tuple[str, Callable[..., object] | typer.Typer]] = {
    "plan": (EXPERIMENTS, plan.plan),
    "run": (EXPERIMENTS, run.run),
    "report": (EXPERIMENTS, report.report),
    "ui": (EXPERIMENTS, ui.ui),
    "publish": (REPORTS, publish.publish),
    "rebuild": (REPORTS, publish.rebuild),
    "replay": (REPORTS, replay.replay_command),
    "describe": (MODELS, describe.describe),
    "export": (MODELS, export.export),
    "import": (MODELS, import_.import_),
    "score": (TASKS, score.score),
    "submission": (TASKS, submission.submission),
    "data": (TASKS, data.application),
    "schema": (FILES, schema.schema),
}
"""Every command by its name, with the group it is listed in, in the order in which they are used."""
for name, (group, command) in COMMANDS.items():
    if isinstance(command, typer.Typer):
        application.add_typer(command, name=name, rich_help_panel=group)
    else:
        application.command(name, rich_help_panel=group)(command)

INTERRUPTED = 130


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"{DISTRIBUTION} {version(DISTRIBUTION)}")  # noqa: T201 — what was asked for
        raise typer.Exit


@application.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Ablations and architecture search for pretrained text models."""


def main() -> None:
    """Run the command line and leave with the exit code that says how it went."""
    try:
        try:
            application()
        finally:
            if sys.stdout is not None:  # None where it was closed before the start
                sys.stdout.flush()  # a disk that is full says so here, where it can still be answered
    except UserError as refusal:
        _leave(refusal)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader has seen enough
        _let_go_of_output()
        sys.exit(0)
    except OSError as error:
        if error.errno is None:
            raise
        place = error.filename2 or error.filename or "the output, or a file without a name"
        _let_go_of_output()
        _leave(MachineError(f"{place}: {error.strerror}"))


def _leave(refusal: UserError) -> NoReturn:
    with suppress(OSError):  # a terminal that was closed, as SIGHUP says, changes no exit code
        for line in refusal.lines:
            print(line, file=sys.stderr)  # noqa: T201 — the one place that speaks to the user of mistakes
    sys.exit(refusal.exit_code)


def _let_go_of_output() -> None:
    """Keep the interpreter from trying once more to write what could not be written."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
