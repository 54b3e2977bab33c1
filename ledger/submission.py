"""What one trial predicted for the unlabelled tests of GLUE, as the files of a submission to its leaderboard."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from configuration.stage_label import FINE_TUNE
from foundation.errors import ConfigurationError
from ledger.artifacts import ArtifactStore
from ledger.database import Ledger
from ledger.paths import ResultPaths
from ledger.records import Record, with_results
from ledger.result_files import predictions_file
from ledger.snapshot import Snapshot, TrialHistory, snapshot
from ledger.stage_results import ExamplesResult, FineTuneResult
from tasks.downstream import find_task
from tasks.glue.submission import FILES, table_of
from tasks.labelled.encoding import load_examples

EXAMPLES = "examples"


def submission(folder: Path, trial: str) -> dict[str, str]:
    """Return the text of each file by its name, of the trial's first fine-tuning seed.

    Raises ConfigurationError where there is no such trial or it predicted none of the tests, Corruption where the
    files are damaged.
    """
    with closing(Ledger.at(folder)) as ledger:
        found = snapshot(ledger)
    history = _history(folder, found, trial)
    files = dict(_files(found, history, ArtifactStore(ResultPaths.of(folder).stages)))
    if not files:
        message = f"{folder}: {trial} has predicted no unlabelled test of GLUE; tasks with a test file beside dev do"
        raise ConfigurationError(message)
    return files


def _history(folder: Path, found: Snapshot, trial: str) -> TrialHistory:
    for history in found.histories:
        if history.trial.name == trial:
            return history
    known = ", ".join(history.trial.name for history in found.histories)
    raise ConfigurationError(f"{folder}: {trial!r} is not a trial; known are {known}")


def _files(found: Snapshot, history: TrialHistory, store: ArtifactStore) -> Iterator[tuple[str, str]]:
    asked = {result.task: record for record, result in with_results(found.shared, ExamplesResult)}
    told: dict[str, Record] = {}
    finished = sorted(history.finished(FINE_TUNE), key=lambda record: record.label)
    for record, result in with_results(finished, FineTuneResult):
        told.setdefault(result.task, record)
    for (name, part), file in FILES.items():
        if name not in told or name not in asked:
            continue
        examples = store.read(EXAMPLES, asked[name].key) / part
        predicted = store.read(FINE_TUNE, told[name].key) / predictions_file(part)
        if examples.is_dir() and predicted.is_file():
            predictions = json.loads(predicted.read_text(encoding="utf-8"))
            yield file, table_of(find_task(name), load_examples(examples).rows, predictions)
