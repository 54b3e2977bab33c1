"""`steeplechase`: the command line. Refusals become one line per mistake and an exit code, never a traceback."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

import typer

from commands import (
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
from search_space.refusals import EnvironmentRefused, Refusal

application = typer.Typer(
    name="steeplechase",
    help="Ablations and architecture search for pretrained text models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    describe.describe,
    export.export,
    plan.plan,
    publish.publish,
    publish.rebuild,
    report.report,
    run.run,
    schema.schema,
    score.score,
    submission.submission,
    ui.ui,
)
for command in COMMANDS:
    application.command()(command)
application.command("import")(import_.import_)
application.command("replay")(replay.replay_command)

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave with the exit code that says how it went."""
    try:
        try:
            application()
        finally:
            if sys.stdout is not None:  # None where it was closed before the start
                sys.stdout.flush()  # a disk that is full says so here, where it can still be answered
    except Refusal as refusal:
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
        _leave(EnvironmentRefused(f"{place}: {error.strerror}"))


def _leave(refusal: Refusal) -> NoReturn:
    for line in refusal.lines:
        print(line, file=sys.stderr)  # noqa: T201 — the one place that speaks to the user of mistakes
    sys.exit(refusal.exit_code)


def _let_go_of_output() -> None:
    """Keep the interpreter from trying once more to write what could not be written."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
