"""`steeplechase`: the command line. User errors become one line each and an exit code, never a traceback."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from commands import (
    claims,
    data,
    describe,
    export,
    import_,
    pilot,
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
    "pilot": (REPORTS, pilot.pilot),
    "publish": (REPORTS, publish.publish),
    "rebuild": (REPORTS, publish.rebuild),
    "claims": (REPORTS, claims.claims),
    "replay": (REPORTS, replay.replay_command),
    "describe": (MODELS, describe.describe),
    "export": (MODELS, export.export),
    "import": (MODELS, import_.import_),
    "score": (TASKS, score.score),
    "submission": (TASKS, submission.submission),
    "data": (TASKS, data.application),
    "schema": (FILES, schema.schema),
}
"""Commands by name, with their group in the help, in the order of use."""
for name, (group, command) in COMMANDS.items():
    if isinstance(command, typer.Typer):
        application.add_typer(command, name=name, rich_help_panel=group)
    else:
        application.command(name, rich_help_panel=group)(command)

INTERRUPTED = 130


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"{DISTRIBUTION} {version(DISTRIBUTION)}")  # noqa: T201 — the requested output
        raise typer.Exit


@application.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Ablations and architecture search for pretrained text models."""


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
