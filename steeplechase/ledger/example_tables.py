"""Losses and scores of single examples by metric and replicate, from a results folder's stages or from an export.

An export has them in `ledger/examples/`: an npy array [replicates examples] for each metric, compressed by gzip, and
`replicates.csv` with the arm and the seeds of each row. Values that are all 0 or 1 are exported as bytes, others as
float16: rounding changes each by at most 0.05%, and a mean by less. What results folders keep is float32.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from steeplechase.analysis.shapes import Float
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.errors import CorruptionError, MachineError, damage_refused
from steeplechase.ledger.csv_cells import escaped, unescaped
from steeplechase.ledger.csv_export import (
    ATTACHMENTS,
    ExportedLedger,
    attachment_names,
    csv_text,
    is_export,
    read_attachment,
)
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.example_values import KeptExamples, Mask, array_bytes, read_example_values
from steeplechase.ledger.metrics import final_record
from steeplechase.ledger.paths import EXPORT_FOLDER, HELD_OUT_LOSSES, example_scores_file
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.reused_rows import ReusedRows, reused_rows
from steeplechase.ledger.snapshot import Snapshot, open_rows, snapshot
from steeplechase.ledger.stage_results import ExamplesResult, ExampleValues, FineTuneResult, PretrainResult
from steeplechase.ledger.trial_history import chosen_records

INDEX = "replicates.csv"
LARGEST_FLOAT16 = 65504.0
COMPRESSED = ".gz"
LARGEST_ARRAY = 2**28
"""In bytes: more is neither compressed nor unpacked, so that no file fills the memory."""
GZIP_WINDOW = 31
"""`wbits` of zlib for a gzip member. https://docs.python.org/3/library/zlib.html#zlib.decompress"""


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


def kept_example_tables(folder: Path, objects: str = "", known: Snapshot | None = None) -> dict[str, ExampleTable]:
    """Return the tables of a results folder, or of an export, by metric, with an export's precision.

    `known` is the folder's snapshot, where it was made already: of thousands of rows it takes seconds. `objects` is
    the URL of the object store of its stages, if it may be contacted. A metric of which values were not kept has no
    table. Raises MachineError where files are missing, because a report without them would have other intervals,
    CorruptionError where one is damaged.
    """
    if is_export(folder):
        return _exported(folder / EXPORT_FOLDER)
    with open_rows(folder) as rows:
        tables = _stored(folder, rows, objects, known).tables()
        return {
            metric: replace(tables[metric], values=_compact(tables[metric].values).astype(np.float32))
            for metric in sorted(tables)
        }


def refuse_missing_examples(folder: Path, rows: LedgerRows, objects: str = "") -> None:
    """Raise MachineError if values of single examples are missing that the report of a results folder needs."""
    _stored(folder, rows, objects).refuse_missing()


def _stored(folder: Path, rows: LedgerRows, objects: str, known: Snapshot | None = None) -> "_StoredExamples":
    reused = ReusedExamples(reused_rows(folder, rows))
    return _StoredExamples(KeptExamples(folder, objects), rows, reused, known or snapshot(rows))


def attachments(tables: Mapping[str, ExampleTable]) -> dict[str, bytes]:
    """Return the files of an export by name; equal tables, equal bytes. Without tables there is no file."""
    files: dict[str, bytes] = {}
    rows: list[tuple[str, ...]] = []
    for metric in sorted(tables):
        name = f"{metric.replace(':', '.').replace(' ', '.')}.npy"
        content = array_bytes(_compact(tables[metric].values))
        if len(content) <= LARGEST_ARRAY:
            name, content = f"{name}{COMPRESSED}", gzip.compress(content, mtime=0)
        files[name] = content
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
        tables[metric] = ExampleTable(metric, rows, _array(source, name).astype(np.float32))
    return tables


def _array(source: Path, name: str) -> np.ndarray:
    content = read_attachment(source, name)
    with damage_refused(f"{source / ATTACHMENTS / name}", more=(zlib.error,)):
        if name.endswith(COMPRESSED):
            content = zlib.decompressobj(GZIP_WINDOW).decompress(content, LARGEST_ARRAY)
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


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


@dataclass(frozen=True)
class _Wanted:
    """The file of one stage, and the metrics and the trained model that its rows are of."""

    replicate: Replicate
    metrics: tuple[str, ...]
    record: Record
    name: str
    described: ExampleValues
    halved: str | None = None
    """The task whose search reports on half of these examples."""


class _StoredExamples:
    """The files of finished stages that a table's values are of."""

    def __init__(self, kept: KeptExamples, rows: LedgerRows, reused: ReusedExamples, found: Snapshot) -> None:
        self._kept, self._rows, self._reused, self._found = kept, rows, reused, found
        self._halves: dict[str, Mask | None] = {}

    def tables(self) -> dict[str, ExampleTable]:
        """Read every file that there should be. Raises MachineError if any is missing."""
        self.refuse_missing()
        found: dict[str, list[tuple[Replicate, np.ndarray]]] = {}
        for wanted in self._wanted():
            for metric, values in zip(wanted.metrics, self._read(wanted), strict=False):
                found.setdefault(metric, []).append((wanted.replicate, values))
        return {metric: self._table(metric, rows) for metric, rows in found.items()}

    def refuse_missing(self) -> None:
        """Raise MachineError with the number of the missing files and the first of them."""
        missing = [path for path in map(self._missing, self._wanted()) if path is not None]
        if missing:
            fault = f"values of single examples are missing, which its intervals need: {len(missing)} files"
            where = self._kept.store.whereabouts
            raise MachineError(f"{self._kept.results}: {fault}, the first is {missing[0]}; {where}")

    def _missing(self, wanted: _Wanted) -> Path | None:
        path = self._kept.file(wanted.record, wanted.name, wanted.described)
        if not path.is_file():
            return None if self._taken_over(wanted) is not None else path
        if wanted.halved is None or self._half(wanted.halved) is not None:
            return None
        record = self._examples_of(wanted.halved)
        return self._kept.store.folder(record.stage, record.key)

    def _taken_over(self, wanted: _Wanted) -> np.ndarray | None:
        return self._reused.values(wanted.record.key, wanted.metrics, wanted.replicate.fine_tuning_seed)

    def _read(self, wanted: _Wanted) -> np.ndarray:
        path = self._kept.file(wanted.record, wanted.name, wanted.described)
        if not path.is_file() and (taken := self._taken_over(wanted)) is not None:
            return taken
        values = read_example_values(path, wanted.described)
        return values if wanted.halved is None else values[:, self._half(wanted.halved)]

    def _table(self, metric: str, rows: Sequence[tuple[Replicate, np.ndarray]]) -> ExampleTable:
        counts = sorted({len(values) for _, values in rows})
        if len(counts) > 1:
            raise CorruptionError(f"{self._kept.results}: {metric} is of {counts} examples; one number was expected")
        return ExampleTable(metric, tuple(one for one, _ in rows), np.stack([values for _, values in rows]))

    def _wanted(self) -> Iterator[_Wanted]:
        other_loss, final = self._found.arms_with_other_loss, self._found.final
        for history in (*self._found.histories, *(final.histories if final else ())):
            arm, seed = history.trial.arm, history.trial.seed
            last = final_record(history, self._found.labels)
            losses = last.result.held_out_losses if last and isinstance(last.result, PretrainResult) else None
            if last and losses and arm not in other_loss:
                yield _Wanted(Replicate(arm, seed), (HELD_OUT_LOSS,), last, HELD_OUT_LOSSES, losses)
            chosen = chosen_records(history.records, self._found.labels)
            for record, result in with_results(chosen, FineTuneResult):
                for part, described in (result.example_scores or {}).items():
                    ending = "" if part == "dev" else f" {part}"
                    metrics = tuple(f"{result.task}:{name}{ending}" for name in described.metrics)
                    of_half = result.choice is not None and result.choice.reported != described.examples
                    halved = result.task if of_half and not ending else None
                    replicate = Replicate(arm, seed, result.seed)
                    yield _Wanted(replicate, metrics, record, example_scores_file(part), described, halved)

    def _half(self, task: str) -> Mask | None:
        """Return the mask of the examples that the scores of a search are of."""
        if task not in self._halves:
            self._halves[task] = self._kept.reported_half(self._rows, task, self._examples_of(task))
        return self._halves[task]

    def _examples_of(self, task: str) -> Record:
        shared = with_results(self._found.shared, ExamplesResult)
        return next(record for record, found in shared if found.task == task)
