"""`steeplechase check`: the contracts of every option and factory in a folder, one line each."""

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Annotated

import typer

from runners.flags import folder_named
from steeplechase.commands.output import let_go_of_output
from steeplechase.commands.terminal.screen import LastingConsole
from steeplechase.foundation.child_process import import_path, module_command
from steeplechase.foundation.errors import UserError
from steeplechase.models.contract import Outcome

MEASURING = "steeplechase.commands.plugin_measuring"
"""The module that measures in a process of its own; it imports torch, this file does not."""
LONGEST_SECONDS = 300.0
"""Of one contract, or of the imports before the first one."""
SECONDS_TO_END = 10.0
ENDS = "each contract ends in time"
GOES_ON = "its code never ends the process"
"""The contract that code breaks which ends the process, as os._exit does."""


def check(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="A plugin: it has search_space/, models/, tasks/ or runners/.", parser=folder_named
        ),
    ],
) -> None:
    """Check every option of a plugin, and every module of its experiments; exit with 1 if a contract is broken."""
    console = LastingConsole(let_go_of_output)  # the exit code says what all contracts are
    outcomes = []
    for outcome in measured_apart(folder):
        outcomes.append(outcome)
        console.print(line_of(outcome), markup=False, highlight=False, soft_wrap=True)
    broken = sum(bool(outcome.problem) for outcome in outcomes)
    kept = sum(not (outcome.problem or outcome.skipped) for outcome in outcomes)
    counts = f"{kept} contracts hold, {broken} are broken, {len(outcomes) - kept - broken} were skipped"
    console.print(counts, highlight=False)
    if broken:
        raise typer.Exit(1)


def measured_apart(folder: Path) -> Iterator[Outcome]:
    """Yield the outcomes that a process of its own finds, the last one for code that ends that process.

    Raises the UserError of a folder that cannot be measured.
    """
    place, refusal, late = str(folder), None, Event()
    with subprocess.Popen(
        module_command(MEASURING, str(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **import_path()},
        start_new_session=True,  # Ctrl-C ends this process, which then ends that one
    ) as process:
        try:
            assert process.stdout is not None
            for answer in map(json.loads, _in_time(process, process.stdout, late)):
                place = answer.get("place", place)
                if "outcome" in answer:
                    yield Outcome(**answer["outcome"])
                if "end" in answer:
                    refusal = answer
                    break
            if refusal is None and not late.is_set():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(SECONDS_TO_END)  # its output has ended: the code says how
        finally:
            process.kill()
    if late.is_set():
        problem = f"had not ended after {LONGEST_SECONDS:g} s; the rest is not measured"
        yield Outcome(place, ENDS, problem=problem)
    elif refusal is None:
        code = process.returncode
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        yield Outcome(place, GOES_ON, problem=f"it was ended {how}; the rest is not measured")
    elif refusal["end"]:
        raise UserError.of_exit_code(refusal["exit_code"], refusal["end"]) or UserError(refusal["end"])


def _in_time(process: "subprocess.Popen[str]", lines: Iterable[str], late: Event) -> Iterator[str]:
    """Yield the lines of a process, which is killed and `late` set where one takes longer than it may."""

    def end() -> None:
        late.set()
        process.kill()

    waiting = iter(lines)
    while True:
        limit = Timer(LONGEST_SECONDS, end)
        limit.start()
        line = next(waiting, None)
        limit.cancel()
        if line is None:
            return
        yield line


def line_of(outcome: Outcome) -> str:
    """Return an outcome as a line: its verdict, the option, the contract, and the reason."""
    verdict = "broken " if outcome.problem else "skipped" if outcome.skipped else "holds  "
    reason = outcome.problem or outcome.skipped
    return f"{verdict}  {outcome.option}: {outcome.contract}{f': {reason}' if reason else ''}"
