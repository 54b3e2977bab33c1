"""`steeplechase`: the command line. Refusals become one line per mistake and an exit code, never a traceback."""

import os
import sys
from contextlib import suppress

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
from search_space.refusals import Refusal

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
        application()
    except Refusal as refusal:
        for line in refusal.lines:
            print(line, file=sys.stderr)  # noqa: T201 — the one place that speaks to the user of mistakes
        sys.exit(refusal.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader has seen enough
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
