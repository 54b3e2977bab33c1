"""Predictions of every trial on a task's examples, beside their labels: read from the stages of a results folder."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reports.statistics.experiment import experiment_of
from reports.table import Row, Table
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.foundation.errors import ConfigurationError, MachineError, damage_refused, did_you_mean
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.example_values import read_example_values
from steeplechase.ledger.paths import ResultPaths, example_scores_file, other_parts, predictions_file
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import ExamplesResult, FineTuneResult
from steeplechase.ledger.trial_history import chosen_records
from steeplechase.tasks.labelled.encoding import load_examples
from steeplechase.tasks.labelled.forms import load_groups, load_text_pairs, load_words
from steeplechase.tasks.labelled.scoring import references_of
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.known_labels import with_label_names
from steeplechase.tasks.own_tasks.table import TableTask
from steeplechase.tasks.squad.windows import load_questions

COLUMNS = ("arm", "pretraining_seed", "fine_tuning_seed", "part", "example", "row", "label", "prediction")
"""Of every table of predictions; the scores of single examples follow, by metric, where there are any."""


def predictions_table(folder: Path, snapshot: Snapshot, task: str) -> Table:
    """Return one row per arm, pretraining seed, fine-tuning seed, part and example of a task.

    `example` counts the examples of a part from 0, of a task of tags its words; of SQuAD it is the question's name.
    `row` is the identifier of an example in its file, without a column of identifiers the number of its row from 0;
    None where examples have no file. A label is its name; its number where the experiment declares no names and the
    train file is gone or has changed; None in a part without labels. Of a minimal pair the prediction is the
    difference of the two sentences' scores.

    Raises ConfigurationError for an unknown task, MachineError where the stages were moved away, CorruptionError
    where a file is not what was written.
    """
    tuning = _experiment(folder, snapshot).fine_tuning
    if task not in tuning.tasks:
        known = ", ".join(tuning.tasks) or "none"
        raise ConfigurationError(f"{task!r} is not a task of {folder}: {known}.{did_you_mean(task, tuning.tasks)}")
    store = ResultPaths.of(folder).store()
    records = {result.task: record for record, result in with_results(snapshot.shared, ExamplesResult)}
    examples = _examples(tuning, task, _stage(store, records[task])) if task in records else None
    rows = [] if examples is None else list(_rows(store, snapshot, examples))
    columns = (*COLUMNS, *dict.fromkeys(name for row in rows for name in row if name not in COLUMNS))
    return Table(f"predictions of {task}", columns, tuple({name: row.get(name) for name in columns} for row in rows))


def tables_of_predictions(folder: Path, snapshot: Snapshot) -> dict[str, Table]:
    """Return the predictions of every task of a results folder. Raises as `predictions_table`."""
    tasks = sorted(_experiment(folder, snapshot).fine_tuning.tasks)
    return {task: predictions_table(folder, snapshot, task) for task in tasks}


def _experiment(folder: Path, snapshot: Snapshot) -> Experiment:
    if not snapshot.has_trials:
        raise ConfigurationError(f"{folder}: no model is trained in it, so that it has no predictions")
    return experiment_of(snapshot.document)


def _examples(tuning: FineTuning, name: str, folder: Path) -> "_Examples":
    """Return the examples of a task, which a stage has in its folder."""
    task, table = tuning.find(name), tuning.own_tasks.get(tuning.root_of(name))
    if not isinstance(table, TableTask):
        return _Examples(task, folder)
    return _Examples(with_label_names(task, table, folder), folder, numbered=table.columns.id is None)


@dataclass(frozen=True)
class _Part:
    """The examples of a part, in order."""

    names: Sequence[int | str]
    labels: Sequence[Any]
    rows: Sequence[int | str | None]


class _Examples:
    """The examples of a task by part, with the labels of each."""

    def __init__(self, task: DownstreamTask, folder: Path, numbered: bool = False) -> None:
        self.task, self._folder, self._numbered = task, folder, numbered

    @cached_property
    def parts(self) -> dict[str, _Part]:
        """By part the examples."""
        return {part: self._part(self._folder / part) for part in ("dev", *other_parts(self._folder))}

    def _part(self, folder: Path) -> _Part:
        if self.task.squad is not None:
            return self._questions(folder)
        if self.task.method == "minimal_pairs":
            pairs = len(load_groups(folder))
            return _Part(range(pairs), (None,) * pairs, self._rows((), pairs))
        if self.task.form == "text_pair":
            found = load_text_pairs(folder)
            return self._counted(found.references, found.sources.rows)
        if self.task.form == "tags":
            words = load_words(folder)
            names = words.sequences.rows
            rows = [names[sentence] for sentence in words.sentences] if names else []
            return self._counted([self.named(tag) for tag in words.tags], rows)
        examples = load_examples(folder)
        references = references_of(self.task, examples)
        labels = [None] * len(examples) if references is None else [self.named(each) for each in references]
        return self._counted(labels, examples.rows)

    def _questions(self, folder: Path) -> _Part:
        questions = load_questions(folder)
        answers = ([answer.text for answer in each.answers] for each in questions)
        names = [each.identifier for each in questions]
        return _Part(names, [json.dumps(each, ensure_ascii=False) for each in answers], self._rows(names, len(names)))

    def _counted(self, labels: Sequence[Any], rows: Sequence[str]) -> _Part:
        return _Part(range(len(labels)), labels, self._rows(rows, len(labels)))

    def _rows(self, rows: Sequence[str], count: int) -> Sequence[int | str | None]:
        """Return the rows of so many examples, numbers where they are counted; None for each without a file."""
        if len(rows) != count:
            return (None,) * count
        return tuple(int(row) for row in rows) if self._numbered else rows

    def named(self, label: Any) -> Any:
        """Return a label's name where it has one; values and texts are themselves."""
        has_names = isinstance(label, int) and self.task.value_range is None and label < len(self.task.labels)
        return self.task.labels[label] if has_names else label

    def predictions(self, stage: Path, part: str) -> list[Any]:
        """Return what a stage predicted for a part, in the order of its examples.

        Raises CorruptionError if its file holds anything else.
        """
        with damage_refused(str(stage)):
            found = json.loads((stage / predictions_file(part)).read_text())
            if self.task.squad is not None:
                return [found[str(name)] for name in self.parts[part].names]
            if self.task.method == "minimal_pairs":
                return [good - bad for good, bad in found]
            predicted = [self.named(each) for each in found]
            if len(predicted) != len(self.parts[part].names):
                raise ValueError(f"{len(predicted)} predictions of {len(self.parts[part].names)} examples")
            return predicted


def _rows(store: ArtifactStore, snapshot: Snapshot, examples: _Examples) -> Iterator[Row]:
    for arm in snapshot.arms:
        for history in snapshot.of_arm(arm.name):
            for record, result in with_results(chosen_records(history.records, snapshot.labels), FineTuneResult):
                if result.task == examples.task.name:
                    seeds = {"pretraining_seed": history.trial.seed, "fine_tuning_seed": result.seed}
                    yield from ({"arm": arm.name, **seeds, **row} for row in _of_record(store, record, examples))


def _of_record(store: ArtifactStore, record: Record, examples: _Examples) -> Iterator[Row]:
    stage, result = _stage(store, record), record.result
    assert isinstance(result, FineTuneResult)
    for part, found in examples.parts.items():
        if not (stage / predictions_file(part)).is_file():
            continue
        kept = (result.example_scores or {}).get(part)
        by_metric: dict[str, np.ndarray] = {}
        if kept is not None and kept.examples == len(found.names):
            scores = read_example_values(stage / example_scores_file(part), kept)
            by_metric = dict(zip(kept.metrics, scores, strict=True))
        predicted = examples.predictions(stage, part)
        for place, row in enumerate(zip(found.names, found.rows, found.labels, predicted, strict=True)):
            of_example = {metric: float(scores[place]) for metric, scores in by_metric.items()}
            yield {"part": part, **dict(zip(COLUMNS[-4:], row, strict=True)), **of_example}


def _stage(store: ArtifactStore, record: Record) -> Path:
    if not store.has(record.stage, record.key):
        folder = store.folder(record.stage, record.key)
        raise MachineError(f"{folder}: missing; predictions are kept in the stages of a run, not in published rows")
    return store.read(record.stage, record.key)
