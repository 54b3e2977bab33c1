"""`steeplechase publish`, `rebuild` and `claims`: published reports with the rows they are built from."""

import os
from pathlib import Path
from typing import Annotated

import typer

from runners.flags import StoreUrl, folder_named
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.report import print_document
from steeplechase.foundation.atomic_files import disk_refusals
from steeplechase.foundation.errors import ConflictError, MachineError

PUBLISHED = Path("reports/published")
ReportFolder = Annotated[
    Path, typer.Argument(metavar="OUT", help="A folder such as reports/published/table2-laptop.", parser=folder_named)
]
PublishedFolder = Annotated[
    Path, typer.Argument(metavar="[OUT]", help="A published report, or a folder of them.", parser=folder_named)
]


def publish(folder: ResultsFolder, out: ReportFolder, store: StoreUrl = "") -> None:
    """Export a results folder's rows to OUT, and build report.md, its figures and report.yaml there."""
    from reports.publishing import publish as publish_report

    if os.path.realpath(out) == os.path.realpath(folder):
        raise ConflictError(f"{out}: is the results folder itself. Did you mean `steeplechase rebuild {out}`?")
    with disk_refusals(out):
        publish_report(folder, out, store)
    print(f"published: {out}")  # noqa: T201 — the result itself


def rebuild(
    folder: PublishedFolder = PUBLISHED,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a file differs from what the rows give.")
    ] = False,
    whole_reports: Annotated[
        Path | None,
        typer.Option("--all-formats", metavar="DIR", help="Also write whole reports, with tables, into DIR/NAME."),
    ] = None,
) -> None:
    """Rebuild published reports from their rows, and print how many files changed."""
    from reports.number_format import counted
    from reports.publishing import published_in
    from reports.publishing import rebuild as rebuild_report

    if not folder.is_dir():
        raise MachineError(f"{folder}: no such folder; `steeplechase publish RESULTS {folder}` makes one")
    folders = published_in(folder) or (folder,)
    changed: list[str] = []
    for report in folders:
        with disk_refusals(whole_reports or report):
            files = rebuild_report(report, check, whole_reports)
        changed += [f"{report / name}: differs from what its rows give" for name in files]
        outcome = "not as its rows give" if check else "changed"
        said = f"{counted(len(files), 'file')} {outcome}" if files else "the same, byte for byte"
        print(f"{report}: {said}")  # noqa: T201
    for report in sorted(folder.iterdir()) if folders != (folder,) else ():
        if report.is_dir() and report not in folders:
            print(f"{report}: unchanged; it has no rows to build from")  # noqa: T201
    if check and changed:
        raise ConflictError([*changed, f"`steeplechase rebuild {folder}` writes what the rows give"])


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
