"""`steeplechase publish` and `steeplechase rebuild`: published reports with the rows they are built from."""

import os
from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import ResultsFolder, folder_named
from foundation.errors import ConflictError, MachineError

PUBLISHED = Path("reports/published")
ReportFolder = Annotated[
    Path, typer.Argument(metavar="OUT", help="A folder such as reports/published/table2-laptop.", parser=folder_named)
]
PublishedFolder = Annotated[
    Path, typer.Argument(metavar="[OUT]", help="A published report, or a folder of them.", parser=folder_named)
]


def publish(folder: ResultsFolder, out: ReportFolder) -> None:
    """Export a results folder's rows to OUT and build the report, its figures and tables there."""
    from reports.publishing import publish as put

    if os.path.realpath(out) == os.path.realpath(folder):
        raise ConflictError(f"{out}: is the results folder itself. Did you mean `steeplechase rebuild {out}`?")
    put(folder, out)
    print(f"published: {out}")  # noqa: T201 — the result itself


def rebuild(
    folder: PublishedFolder = PUBLISHED,
    check: Annotated[bool, typer.Option("--check", help="Fail where a file was not what the rows give.")] = False,
) -> None:
    """Rebuild published reports from their rows, and print which files changed."""
    from reports.publishing import published_in
    from reports.publishing import rebuild as again

    if not folder.is_dir():
        raise MachineError(f"{folder}: no such folder; `steeplechase publish RESULTS {folder}` makes one")
    several = published_in(folder) or (folder,)
    changed: list[str] = []
    for each in several:
        names = again(each)
        changed += [f"{each / name}: was not what its rows give" for name in names]
        print(f"{each}: {f'{len(names)} files changed' if names else 'the same, byte for byte'}")  # noqa: T201
    for each in sorted(folder.iterdir()) if several != (folder,) else ():
        if each.is_dir() and each not in several:
            print(f"{each}: left as it is; it has no rows to build from")  # noqa: T201
    if check and changed:
        raise ConflictError(changed)
