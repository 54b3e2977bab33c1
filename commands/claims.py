"""`steeplechase claims`: the papers' claims with the verdicts of the published reports."""

from pathlib import Path
from typing import Annotated

import typer

from commands.documents import print_document
from commands.publish import PUBLISHED, PublishedFolder

EXPERIMENTS = Path("experiments")


def claims(
    folder: PublishedFolder = PUBLISHED,
    experiments: Annotated[
        Path, typer.Option(help="The experiment files, for the cost of claims that were not run.")
    ] = EXPERIMENTS,
    brief: Annotated[
        bool, typer.Option("--brief", help="Only the table, each claim at the largest scale that is published.")
    ] = False,
) -> None:
    """Print the papers' claims with their verdicts as Markdown; OUT/claims.toml declares them."""
    from reports.claims_page import brief_markdown, markdown

    print_document((brief_markdown if brief else markdown)(folder, experiments))
