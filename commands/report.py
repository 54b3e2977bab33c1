"""`steeplechase report`: what was learned, from a results folder, in any format."""

from contextlib import closing
from typing import Annotated

import typer

from commands.arguments import ResultsFolder
from reports.formats import format_names, render
from reports.report import build
from runners.ledger import Ledger
from runners.standing import snapshot


def report(
    folder: ResultsFolder,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(format_names())}.")] = "terminal",
) -> None:
    """Print the report of a results folder, finished or not."""
    with closing(Ledger.at(folder)) as ledger:
        found = snapshot(ledger)
    print(render(build(found, found.importance or None), form), end="")  # noqa: T201 — the result itself
