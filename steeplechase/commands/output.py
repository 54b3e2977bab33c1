"""The standard output after its reader has gone: nothing more is written, and the command goes on."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def let_go_of_output() -> None:
    """Detach the standard output, so that the interpreter does not retry a failed write at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def readers_may_go() -> Iterator[None]:
    """Let go of the output if its reader closes the pipe, as `head` does; what is printed inside is then lost."""
    try:
        yield
    except BrokenPipeError:
        let_go_of_output()
