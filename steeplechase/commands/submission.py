"""`steeplechase submission`: a trial's predictions on GLUE's test sets, as a zip for the leaderboard."""

from io import BytesIO
from pathlib import Path
from typing import Annotated
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import typer

from runners.flags import StoreUrl
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.output import tell
from steeplechase.foundation.atomic_files import disk_refusals, refuse_existing, write_whole
from steeplechase.ledger.submission import submission as files_of
from steeplechase.tasks.glue.scores import FILES

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest date of the format: equal predictions give equal bytes


def submission(
    results: ResultsFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT.zip", help="The zip to write; it must not exist yet.")],
    trial: Annotated[str, typer.Option(metavar="ARM/SEED", help="A trial of the results folder.")],
    store: StoreUrl = "",
) -> None:
    """Write a trial's predictions on GLUE's unlabelled test sets in the format of its leaderboard."""
    refuse_existing(out)
    files = files_of(results, trial, store)
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(ZipInfo(name, LONG_AGO), files[name])
    with disk_refusals(out.parent):
        write_whole(out, content.getvalue())
    missing = [name for name in FILES.values() if name not in files]
    if missing:
        note = f"note: not predicted, but the leaderboard requires all {len(FILES)}: {', '.join(missing)}"
        tell(note)
    tell(f"written: {out}")
