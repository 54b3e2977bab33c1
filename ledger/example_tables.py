"""Losses and scores of single examples by metric and replicate, from a results folder's stages or from an export.

An export has them in `ledger/examples/`: an npy array [replicates examples] for each metric, and `replicates.csv`
with the arm and the seeds of each row. Values that are all 0 or 1 are exported as bytes, others as float16: rounding
changes each by at most 0.05%, and a mean by less. What results folders keep is float32.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from configuration.metrics import HELD_OUT_LOSS
from foundation.errors import CorruptionError, MachineError
from ledger.artifacts import ArtifactStore
from ledger.csv_cells import escaped, unescaped
from ledger.csv_export import ExportedLedger, attachment_names, csv_text, read_attachment
from ledger.database import LedgerRows
from ledger.example_values import array_bytes, read_example_values
from ledger.metrics import final_record
from ledger.object_artifacts import CopiedArtifacts
from ledger.paths import ResultPaths
from ledger.reading import open_rows
from ledger.records import Record, with_results
from ledger.result_files import HELD_OUT_LOSSES, example_scores_file
from ledger.reused_rows import ReusedRows, reused_rows
from ledger.selected_settings import chosen_records
from ledger.snapshot import Snapshot, TrialHistory, snapshot
from ledger.stage_results import ExamplesResult, ExampleValues, FineTuneResult, PretrainResult, SquadPart
from tasks.labelled.dev_halves import selection_half
from tasks.labelled.encoding import load_examples
from tasks.squad.subsets import selection_half_of_questions
from tasks.squad.windows_on_disk import load_questions

INDEX = "replicates.csv"
LARGEST_FLOAT16 = 65504.0


@dataclass(frozen=True)
class Replicate:
    """One trained model: an arm at a pretraining seed and, for a task, at a fine-tuning seed."""

    arm: str
    seed: int
    fine_tuning_seed: int | None = None


@dataclass(frozen=True)
class ExampleTable:
    """Values of the same examples under every replicate."""

    metric: str
    """`held_out_loss`, `task:metric`, or `task:metric part` for a part beside dev."""
    replicates: tuple[Replicate, ...]
    values: Float[np.ndarray, "replicates examples"]

    def of_arm(self, arm: str) -> "ArmExamples":
        """Return an arm's values by pretraining seed, the mean over fine-tuning seeds where there are several."""
        rows: dict[int, list[int]] = {}
        for row, replicate in enumerate(self.replicates):
            if replicate.arm == arm:
                rows.setdefault(replicate.seed, []).append(row)
        means = [self.values[rows[seed]].mean(axis=0, dtype=np.float64) for seed in sorted(rows)]
        return ArmExamples(tuple(sorted(rows)), np.reshape(means, (len(rows), self.values.shape[1])))


@dataclass(frozen=True)
class ArmExamples:
    """Values of one arm."""

    seeds: tuple[int, ...]
    """Of pretraining, ascending."""
    values: Float[np.ndarray, "seeds examples"]

    def at(self, seeds: Sequence[int]) -> Float[np.ndarray, "seeds examples"]:
        """Return the values at some of the seeds, in that order."""
        return self.values[[self.seeds.index(seed) for seed in seeds]]


def example_tables(folder: Path, rows: LedgerRows, objects: str = "") -> dict[str, ExampleTable]:
    """Return the tables that belong to the open rows of a results folder, or of an export, by metric.

    `objects` is the URL of the object store of its stages, if it may be contacted.

    Raises MachineError where files are missing, CorruptionError where one is damaged.
    """
    if isinstance(rows, ExportedLedger):
        return _exported(rows.path)
    return _stored(folder, rows, objects).tables()


def kept_example_tables(
    folder: Path, objects: str = "", on_missing: Callable[[str], None] = lambda line: None
) -> dict[str, ExampleTable]:
    """Return the tables of a results folder, or of an export, by metric, with an export's precision.

    `objects` is the URL of the object store of its stages, if it may be contacted. A metric of which values were not
    kept, or whose stages were moved away, has no table; `on_missing` gets a line if an object store has the values.
    Raises CorruptionError where a file is damaged.
    """
    with open_rows(folder) as rows:
        if isinstance(rows, ExportedLedger):
            return _exported(rows.path)
        stored = _stored(folder, rows, objects)
        found = stored.complete_tables()
    if stored.only_in_objects:
        on_missing(stored.only_in_objects)
    return found


def _stored(folder: Path, rows: LedgerRows, objects: str) -> "_StoredExamples":
    store = ResultPaths.of(folder).store(objects)
    return _StoredExamples(snapshot(rows), store, ReusedExamples(reused_rows(folder, rows)))


def attachments(tables: Mapping[str, ExampleTable]) -> dict[str, bytes]:
    """Return the files of an export by name; equal tables, equal bytes. Without tables there is no file."""
    files: dict[str, bytes] = {}
    rows: list[tuple[str, ...]] = []
    for metric in sorted(tables):
        name = f"{metric.replace(':', '.').replace(' ', '.')}.npy"
        files[name] = array_bytes(_compact(tables[metric].values))
        for number, one in enumerate(tables[metric].replicates):
            tuned = "" if one.fine_tuning_seed is None else str(one.fine_tuning_seed)
            rows.append((metric, name, str(number), escaped(one.arm), str(one.seed), tuned))
    return {**files, INDEX: csv_text(_COLUMNS, rows).encode()} if files else {}


_COLUMNS = ("metric", "file", "row", *(field.name for field in fields(Replicate)))


def _compact(values: Float[np.ndarray, "replicates examples"]) -> np.ndarray:
    if np.isin(values, (0.0, 1.0)).all():
        return values.astype(np.uint8)
    return values.astype("<f4" if np.abs(values).max(initial=0.0) > LARGEST_FLOAT16 else "<f2")


def _exported(source: Path) -> dict[str, ExampleTable]:
    if INDEX not in attachment_names(source):
        return {}
    lines = list(csv.DictReader(io.StringIO(read_attachment(source, INDEX).decode(), newline="")))
    files = {line["metric"]: line["file"] for line in lines}
    tables = {}
    for metric, name in files.items():
        rows = tuple(_replicate(line) for line in lines if line["metric"] == metric)
        values = np.load(io.BytesIO(read_attachment(source, name)), allow_pickle=False)
        tables[metric] = ExampleTable(metric, rows, values.astype(np.float32))
    return tables


def _replicate(line: Mapping[str, str]) -> Replicate:
    tuned = line["fine_tuning_seed"]
    return Replicate(unescaped(line["arm"]), int(line["seed"]), int(tuned) if tuned else None)


class ReusedExamples:
    """Values of single examples of trials that were taken from other rows."""

    def __init__(self, rows: ReusedRows) -> None:
        self._rows = rows
        self._tables: dict[Path, dict[str, ExampleTable]] = {}
        """By export."""

    def values(
        self, key: str, metrics: Sequence[str], fine_tuning_seed: int | None
    ) -> Float[np.ndarray, "metrics examples"] | None:
        """Return the values of a stage by metric, None if the rows have not all of them."""
        row = self._rows.find(key)
        if row is None or row.record.trial is None:
            return None
        source = row.rows.path
        if source not in self._tables:
            self._tables[source] = _exported(source)
        tables = self._tables[source]
        (trial,) = (trial for trial in row.rows.trials() if trial.name == row.record.trial)
        replicate = Replicate(trial.arm, trial.seed, fine_tuning_seed)
        if not all(metric in tables and replicate in tables[metric].replicates for metric in metrics):
            return None
        return np.stack([tables[metric].values[tables[metric].replicates.index(replicate)] for metric in metrics])


class _StoredExamples:
    """The files of finished stages that a table's values are of."""

    def __init__(self, found: Snapshot, store: ArtifactStore, reused: ReusedExamples) -> None:
        self._found, self._store, self._reused = found, store, reused
        self._other_loss = found.arms_with_other_loss
        self._missing: list[Path] = []
        self._incomplete: set[str] = set()
        """Metrics of which a file is missing."""
        self._reported_examples: dict[str, Bool[np.ndarray, " examples"]] = {}

    def tables(self) -> dict[str, ExampleTable]:
        """Read every file that there should be, and name all that are missing."""
        rows = self._rows()
        if self._missing:
            count = f"{len(self._missing)} files of single examples are not there; the first is"
            raise MachineError(f"{self._store.root}: {count} {self._missing[0]}; {self._store.whereabouts}")
        return {metric: self._table(metric, found) for metric, found in rows.items()}

    @property
    def only_in_objects(self) -> str:
        """The line about values that an object store has and this machine has not; empty if there are none."""
        if not self._missing or not isinstance(self._store, CopiedArtifacts):
            return ""
        metrics = ", ".join(sorted(self._incomplete))
        absent = f"{self._store.root}: the values of single examples are not here, for {metrics}"
        return f"{absent}; {self._store.whereabouts}"

    def complete_tables(self) -> dict[str, ExampleTable]:
        """Read the metrics of which every file is there, with an export's precision."""
        rows = self._rows()
        tables = (self._table(metric, found) for metric, found in rows.items() if metric not in self._incomplete)
        return {
            table.metric: replace(table, values=_compact(table.values).astype(np.float32))
            for table in sorted(tables, key=lambda table: table.metric)
        }

    def _rows(self) -> dict[str, list[tuple[Replicate, np.ndarray]]]:
        rows: dict[str, list[tuple[Replicate, np.ndarray]]] = {}
        for history in self._found.histories:
            for metric, replicate, values in self._of_trial(history):
                rows.setdefault(metric, []).append((replicate, values))
        return rows

    def _table(self, metric: str, rows: Sequence[tuple[Replicate, np.ndarray]]) -> ExampleTable:
        counts = sorted({len(values) for _, values in rows})
        if len(counts) > 1:
            raise CorruptionError(f"{self._store.root}: {metric} is of {counts} examples; one number was expected")
        return ExampleTable(metric, tuple(one for one, _ in rows), np.stack([values for _, values in rows]))

    def _of_trial(self, history: TrialHistory) -> Iterator[tuple[str, Replicate, np.ndarray]]:
        arm, seed = history.trial.arm, history.trial.seed
        last = final_record(history, self._found.labels)
        losses = last.result.held_out_losses if last and isinstance(last.result, PretrainResult) else None
        if last and losses and arm not in self._other_loss:
            for values in self._read(last, HELD_OUT_LOSSES, losses, (HELD_OUT_LOSS,)):
                yield HELD_OUT_LOSS, Replicate(arm, seed), values
        chosen = chosen_records(history.records, self._found.labels)
        for record, result in with_results(chosen, FineTuneResult):
            replicate = Replicate(arm, seed, result.seed)
            for part, described in (result.example_scores or {}).items():
                ending = "" if part == "dev" else f" {part}"
                metrics = tuple(f"{result.task}:{name}{ending}" for name in described.metrics)
                found = self._read(record, example_scores_file(part), described, metrics, result.seed)
                for metric, values in zip(metrics, found, strict=False):
                    whole = values if ending else self._of_dev(result, values, metrics)
                    if whole is not None:
                        yield metric, replicate, whole

    def _read(
        self,
        record: Record,
        name: str,
        described: ExampleValues,
        metrics: Sequence[str],
        fine_tuning_seed: int | None = None,
    ) -> np.ndarray:
        path = self._store.file(record.stage, record.key, name)
        if not path.is_file():
            if (reused := self._reused.values(record.key, metrics, fine_tuning_seed)) is not None:
                return reused
            self._miss(path, metrics)
            return np.empty((0, 0), np.float32)
        return read_example_values(path, described)

    def _miss(self, path: Path, metrics: Sequence[str]) -> None:
        self._missing.append(path)
        self._incomplete.update(metrics)

    def _of_dev(self, result: FineTuneResult, values: np.ndarray, metrics: Sequence[str]) -> np.ndarray | None:
        """Return the values of the examples that the scores are of: after a search those of the reported half.

        None where the examples' stage was moved away.
        """
        if result.choice is None or result.choice.reported == len(values):
            return values
        if result.task not in self._reported_examples:
            shared = with_results(self._found.shared, ExamplesResult)
            record, examples = next((record, found) for record, found in shared if found.task == result.task)
            if not self._store.has(record.stage, record.key):
                self._miss(self._store.folder(record.stage, record.key), metrics)
                return None
            self._reported_examples[result.task] = ~self._selection_half(record, examples)
        return np.asarray(values[self._reported_examples[result.task]])

    def _selection_half(self, record: Record, examples: ExamplesResult) -> Bool[np.ndarray, " examples"]:
        dev = self._store.read(record.stage, record.key) / "dev"
        if isinstance(examples.dev, SquadPart):
            return selection_half_of_questions(load_questions(dev))
        return selection_half(load_examples(dev))
