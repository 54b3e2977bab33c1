"""Lines and JSON of commands, and the standard output after its reader has gone: nothing more is written to it."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pydantic, which the list of commands has no use for
    from steeplechase.foundation.schema import JsonValue


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


def tell(line: str, stderr: bool = True) -> None:
    """Print a line as it is, without markup, colours of words and line breaks."""
    from rich.console import Console  # a tenth of a second, which the list of commands has no use for

    Console(stderr=stderr).print(line, markup=False, highlight=False, soft_wrap=True)


def print_json(document: "JsonValue") -> None:
    """Print the requested document for other programs."""
    print(json.dumps(document, indent=2, ensure_ascii=False))  # noqa: T201
