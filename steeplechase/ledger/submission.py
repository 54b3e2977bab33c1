"""Predictions of one trial on GLUE's unlabelled test sets, as the files of a leaderboard submission."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.checkpoints import files_of
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import with_results
from steeplechase.ledger.result_files import predictions_file
from steeplechase.ledger.selected_settings import first_fine_tunings
from steeplechase.ledger.snapshot import Snapshot, snapshot
from steeplechase.ledger.stage_results import ExamplesResult
from steeplechase.ledger.trial_history import TrialHistory
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.glue.scores import FILES, table_of
from steeplechase.tasks.labelled.encoding import load_examples

EXAMPLES = "examples"


def submission(folder: Path, trial: str, objects: str = "") -> dict[str, str]:
    """Return the text of each file by its name, from the trial's first fine-tuning seed, at the settings it selected.

    `objects` is the URL of the object store of its stages, if it may be contacted.

    Raises ConfigurationError if there is no such trial, DataError if it has no predictions of a test set, and
    CorruptionError if the files are damaged.
    """
    with closing(Ledger.at(folder)) as ledger:
        current = snapshot(ledger)
    history = _history(folder, current, trial)
    files = dict(_files(current, history, ResultPaths.of(folder).store(objects)))
    if not files:
        message = f"{folder}: {trial} has no predictions of GLUE's test sets; fine-tune on a task with a test file"
        raise DataError(message)
    return files


def _history(folder: Path, current: Snapshot, trial: str) -> TrialHistory:
    for history in current.histories:
        if history.trial.name == trial:
            return history
    known = ", ".join(history.trial.name for history in current.histories)
    raise ConfigurationError(f"{folder}: {trial!r} is not a trial; known are: {known or 'none'}")


def _files(current: Snapshot, history: TrialHistory, store: ArtifactStore) -> Iterator[tuple[str, str]]:
    examples_of = {result.task: record for record, result in with_results(current.shared, ExamplesResult)}
    fine_tuning_of = first_fine_tunings(history.records, current.labels)
    for (name, part), file in FILES.items():
        if name not in fine_tuning_of or name not in examples_of:
            continue
        examples = files_of(store, examples_of[name]) / part
        predicted = files_of(store, fine_tuning_of[name]) / predictions_file(part)
        if examples.is_dir() and predicted.is_file():
            predictions = json.loads(predicted.read_text(encoding="utf-8"))
            yield file, table_of(find_task(name), load_examples(examples).rows, predictions)
