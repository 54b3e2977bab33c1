"""Losses and scores of single examples: an array file beside the result of a stage, whose sha256 the record has.

The file is an npy array [metrics examples] of little-endian float32: losses in nats, scores as shares from 0 to 1. It
is verified by that sha256 alone, so that it can be read where other files of the stage are gone.

`examples/SHA256.npy` of a results folder is the file of a stage under that sha256, so that its report needs no stage,
and is the same after a move: a hard link, which takes no space, or a copy where the file system has no such links.
Where a search of settings reports on half of dev, the ledger has the mask of that half.
"""

import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.shapes import Bool, Float
from steeplechase.configuration.stage_label import pretraining_marks
from steeplechase.foundation.atomic_files import disk_refusals, read_regular, sha256_of, write_whole
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.amendments import declared_rows
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import Ledger, LedgerRows
from steeplechase.ledger.paths import HELD_OUT_LOSSES, ResultPaths, example_scores_file
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import ExamplesResult, ExampleValues, FineTuneResult, PretrainResult, SquadPart
from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import load_examples
from steeplechase.tasks.squad.prepare import selection_half_of_questions
from steeplechase.tasks.squad.windows import load_questions

Values = Float[np.ndarray, "metrics examples"]


def write_example_values(path: Path, values: Mapping[str, ArrayLike]) -> dict[str, JsonValue]:
    """Write the values of every example by metric, and return what a record keeps of the file: `ExampleValues`."""
    content = array_bytes(np.stack([np.asarray(each, "<f4") for each in values.values()]))
    write_whole(path, content)
    return described(path, tuple(values), np.size(next(iter(values.values()))))


def described(path: Path, metrics: Sequence[str], examples: int) -> dict[str, JsonValue]:
    """Return what a record keeps of a file that has been written."""
    return {"sha256": sha256_of(path), "metrics": [*metrics], "examples": examples}


def read_example_values(path: Path, expected: ExampleValues) -> Values:
    """Return the array of a file. Raises CorruptionError where it is not the file that the record names."""
    fault = "is not what was written"
    try:
        content = read_regular(path)
        if hashlib.sha256(content).hexdigest() == expected.sha256:
            values = np.load(io.BytesIO(content), allow_pickle=False)
            if values.shape == (len(expected.metrics), expected.examples):
                return np.asarray(values)
            fault = f"holds {values.shape}, its record {(len(expected.metrics), expected.examples)}"
    except (OSError, ValueError, EOFError) as error:
        fault = f"cannot be read ({type(error).__name__})"
    raise CorruptionError(f"{path}: {fault}. Move its folder away and run again: the stage will be computed anew")


def array_bytes(values: Values) -> bytes:
    """Return an array as the bytes of an npy file; equal arrays, equal bytes."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


FOLDER = "examples"
REPORTED_HALF = "reported half {}"
"""The fact with the mask of a task's reported half: the number of examples, and their bits as hexadecimal digits."""

Mask = Bool[np.ndarray, " examples"]


def example_files(record: Record) -> Iterator[tuple[str, ExampleValues]]:
    """Yield the name of every file of single examples that a stage wrote, with what its record has of it."""
    if isinstance(record.result, PretrainResult) and record.result.held_out_losses is not None:
        yield HELD_OUT_LOSSES, record.result.held_out_losses
    if isinstance(record.result, FineTuneResult):
        for part, described in (record.result.example_scores or {}).items():
            yield example_scores_file(part), described


class KeptExamples:
    """The files of single examples of one results folder; the stage store is opened for what it lacks."""

    def __init__(self, results: Path, objects: str = "", store: ArtifactStore | None = None) -> None:
        """Of a results folder, and the URL of the object store of its stages, if it may be contacted."""
        self.results, self._objects, self._given = results, objects, store
        self.folder = results / FOLDER

    @cached_property
    def store(self) -> ArtifactStore:
        """The stages of the results."""
        return self._given or ResultPaths.of(self.results).store(self._objects)

    def own(self, described: ExampleValues) -> Path:
        """Return the folder's own file, which may not exist."""
        return self.folder / f"{described.sha256}.npy"

    def file(self, record: Record, name: str, described: ExampleValues) -> Path:
        """Return a file: the folder's own, else its stage's, which does not exist if that was moved away."""
        own = self.own(described)
        return own if own.is_file() else self.store.file(record.stage, record.key, name)

    def reported_half(self, rows: LedgerRows, task: str, examples: Record) -> Mask | None:
        """Return which examples of dev a search of settings reports on; None if neither ledger nor stages have it."""
        fact = rows.fact(REPORTED_HALF.format(task))
        if isinstance(fact, list):
            count, digits = fact
            bits = np.frombuffer(bytes.fromhex(str(digits)), np.uint8)
            return np.unpackbits(bits, count=int(str(count))).astype(bool)
        if not self.store.has(examples.stage, examples.key):
            return None
        dev = self.store.read(examples.stage, examples.key) / "dev"
        if isinstance(examples.result, ExamplesResult) and isinstance(examples.result.dev, SquadPart):
            return ~selection_half_of_questions(load_questions(dev))
        return ~selection_half(load_examples(dev))


class ExampleKeeper:
    """Puts the files of a run's stages into its results folder, each before the record that names it."""

    def __init__(self, ledger: Ledger, store: ArtifactStore) -> None:
        self._ledger, self._kept = ledger, KeptExamples(ledger.path.parent, store=store)
        labels = declared_rows(ledger).fact("labels")
        self._marks = pretraining_marks(map(str, labels) if isinstance(labels, list) else ())
        self._halves: set[str] = set()
        """Tasks whose reported half the ledger has."""

    def keep_all(self) -> None:
        """Put the files of all records into the folder that are in the stage store: an earlier version left them."""
        records = self._ledger.records()
        for record in records:
            self.keep(record, records)

    def keep(self, record: Record, shared: Iterable[Record]) -> None:
        """Put the files of a stage into the folder, those that are there; `shared` has the stages of its examples.

        Raises CorruptionError if one is not what was written, MachineError if the folder cannot be written.
        """
        result = record.result
        if isinstance(result, PretrainResult) and self._marks and record.label != self._marks[-1]:
            return  # a report reads the losses at the end of the budget alone
        for name, described in example_files(record):
            source = self._kept.file(record, name, described)
            if source != self._kept.own(described) and source.is_file():
                self._link(source, described)
        if isinstance(result, FineTuneResult) and result.choice is not None and result.example_scores:
            self._keep_half(result, shared)

    def _link(self, source: Path, described: ExampleValues) -> None:
        own = self._kept.own(described)
        content = array_bytes(read_example_values(source, described))
        if own.parent.is_symlink():
            raise MachineError(f"{own.parent}: is a symbolic link, and nothing is written through one; move it away")
        with disk_refusals(own):
            own.parent.mkdir(exist_ok=True)
            try:
                os.link(source, own, follow_symlinks=False)
            except OSError:  # another file system, or one without hard links
                write_whole(own, content)

    def _keep_half(self, result: FineTuneResult, shared: Iterable[Record]) -> None:
        name = REPORTED_HALF.format(result.task)
        if result.task in self._halves or result.choice is None or result.choice.chosen_on == "dev":
            return
        for record, examples in with_results(shared, ExamplesResult):
            if examples.task == result.task and record.trial is None:
                mask = self._kept.reported_half(self._ledger, result.task, record)
                if mask is not None:
                    self._ledger.set_fact(name, [len(mask), np.packbits(mask).tobytes().hex()])
        self._halves.add(result.task)
