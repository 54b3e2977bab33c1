"""`steeplechase claims`: the papers' claims with the verdicts of the published reports."""

from pathlib import Path
from typing import Annotated

import typer

from steeplechase.commands.publish import PUBLISHED, PublishedFolder
from steeplechase.commands.report import print_document

EXPERIMENTS = Path("experiments")


def claims(
    folder: PublishedFolder = PUBLISHED,
    experiments: Annotated[
        Path, typer.Option(help="The experiment files, for the cost of claims that were not run.")
    ] = EXPERIMENTS,
) -> None:
    """Print the papers' claims with their verdicts as Markdown; OUT/claims.toml declares them."""
    from reports.paper_claims import claim_rows, markdown

    print_document(markdown(folder, claim_rows(folder, experiments)))
