"""`steeplechase submission`: a trial's predictions on GLUE's test sets, as a zip for the leaderboard."""

import json
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Annotated
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import typer

from runners.flags import StoreUrl
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.output import tell
from steeplechase.foundation.atomic_files import disk_refusals, refuse_existing, write_whole
from steeplechase.foundation.errors import ConfigurationError, DataError, damage_refused
from steeplechase.ledger.checkpoints import files_of
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths, predictions_file
from steeplechase.ledger.records import with_results
from steeplechase.ledger.snapshot import Snapshot, snapshot
from steeplechase.ledger.stage_results import ExamplesResult
from steeplechase.ledger.trial_history import TrialHistory, first_fine_tunings
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.glue.scores import FILES, table_of
from steeplechase.tasks.labelled.encoding import load_examples

EXAMPLES = "examples"


def submission_files(folder: Path, trial: str, objects: str = "") -> dict[str, str]:
    """Return the text of each file by its name, from the trial's first fine-tuning seed, at the settings it selected.

    `objects` is the URL of the object store of its stages, if it may be contacted.

    Raises ConfigurationError if there is no such trial, DataError if it has no predictions of a test set, and
    CorruptionError if the files are damaged.
    """
    with closing(Ledger.at(folder)) as ledger:
        current = snapshot(ledger)
    history = _history(folder, current, trial)
    files = dict(_files(folder, current, history, objects))
    if not files:
        message = f"{folder}: {trial} has no predictions of GLUE's test sets; fine-tune on a task with a test file"
        raise DataError(message)
    return files


def _history(folder: Path, current: Snapshot, trial: str) -> TrialHistory:
    for history in current.histories:
        if history.trial.name == trial:
            return history
    if (hidden := current.why_hidden(trial)) is not None:
        raise ConfigurationError(f"{folder}: {hidden}")
    known = ", ".join(history.trial.name for history in current.histories)
    raise ConfigurationError(f"{folder}: {trial!r} is not a trial; known are: {known or 'none'}")


def _files(folder: Path, current: Snapshot, history: TrialHistory, objects: str) -> Iterator[tuple[str, str]]:
    store = ResultPaths.of(folder).store(objects)
    examples_of = {result.task: record for record, result in with_results(current.shared, ExamplesResult)}
    fine_tuning_of = first_fine_tunings(history.records, current.labels)
    for (name, part), file in FILES.items():
        if name not in fine_tuning_of or name not in examples_of:
            continue
        examples = files_of(store, examples_of[name], folder) / part
        predicted = files_of(store, fine_tuning_of[name], folder) / predictions_file(part)
        if examples.is_dir() and predicted.is_file():
            rows = load_examples(examples).rows
            with damage_refused(str(predicted)):
                table = table_of(find_task(name), rows, json.loads(predicted.read_text(encoding="utf-8")))
            yield file, table


LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest date of the format: equal predictions give equal bytes


def submission(
    results: ResultsFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT.zip", help="The zip to write; it must not exist yet.")],
    trial: Annotated[str, typer.Option(metavar="ARM/SEED", help="A trial of the results folder.")],
    store: StoreUrl = "",
) -> None:
    """Write a trial's predictions on GLUE's unlabelled test sets in the format of its leaderboard."""
    refuse_existing(out)
    files = submission_files(results, trial, store)
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
