"""`python -m tools.references`: references of extractive questions for published folders that were made without them.

The examples are made again from the same text and measured by the rules of `steeplechase/tasks/references`. Corpus,
vocabulary and counts of the examples must be those that the rows have; the scores become the fact `references` of
each folder, with the day and this command. `steeplechase rebuild` makes the pages from it.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from reports.statistics.experiment import experiment_of
from runners.dag import shared_stages
from runners.stages.context import ProgressFile, StageContext
from runners.stages.stage import Stage
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.csv_export import attachment_names, read_attachment, read_export, write_export
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.snapshot import snapshot
from steeplechase.ledger.stage_results import ExamplesResult
from steeplechase.ledger.task_references import REFERENCES
from steeplechase.tasks.corpora.assembly import read_documents
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.tokenizer import train_tokenizer

ROOT = Path(__file__).parents[1]
COMMAND = "python -m tools.references"
OF_SPANS = ("span", "windows")
RESULT = "result.json"


def without_references(shared: Sequence[Record]) -> dict[str, Record]:
    """Return by label the records of examples of extractive questions that have no scores of rules."""
    return {
        record.label: record
        for record, made in with_results(shared, ExamplesResult)
        if not made.extractive and find_task(made.task).form in OF_SPANS
    }


class Measuring:
    """Makes examples again, each corpus and vocabulary once, below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def added(self, published: Path) -> Iterator[dict[str, JsonValue]]:
        """Yield the fact's entries of one published folder. Raises ConflictError where the text is another."""
        read = snapshot(read_export(published))
        experiment, recorded = experiment_of(read.document), {record.label: record.result for record in read.shared}
        for label, record in without_references(read.shared).items():
            stage = shared_stages(experiment).by_label[label]
            corpus, vocabulary = self._text(experiment, stage)
            found = self._computed(stage, {"corpus": corpus, "tokens": vocabulary})
            made_again = {"corpus": self._result(corpus), "tokens": self._result(vocabulary), label: found}
            for name, again in made_again.items():
                _refuse_other(f"{published.name}: {name}", recorded[name].as_json, again)
            made = {"task": found["task"], "examples": record.key, "extractive": found["extractive"]}
            yield {**made, "measured": datetime.now(UTC).date().isoformat(), "command": COMMAND}

    def _text(self, experiment: Experiment, examples: Stage) -> tuple[Path, Path]:
        """Return the folders of the text that examples are made from and of the vocabulary learned from it."""
        corpus = examples.inputs["tokens"].inputs["corpus"]
        self._computed(corpus, {})
        documents, tokens = self._place(corpus), self._place(examples.inputs["tokens"])
        if not tokens.is_dir():
            texts = [document.text for document in read_documents(documents, "train")]
            size = experiment.baseline.architecture.vocabulary_size
            tokenizer = train_tokenizer(experiment.tokenizer, texts, size)
            tokens.mkdir()
            tokenizer.save(tokens)
            made = {"vocabulary": tokenizer.vocabulary_hash, "vocabulary_size": tokenizer.vocabulary_size}
            (tokens / RESULT).write_text(json.dumps(made))
        return documents, tokens

    def _computed(self, stage: Stage, inputs: Mapping[str, Path]) -> dict[str, JsonValue]:
        """Return the result of a stage, made in its folder unless it was before."""
        place = self._place(stage)
        if not (place / RESULT).is_file():
            place.mkdir(parents=True, exist_ok=True)
            context = StageContext(inputs, place, ProgressFile(self._folder / "progress.json"), ())
            (place / RESULT).write_text(json.dumps(stage.declaration.compute(context)))
        return self._result(place)

    def _place(self, stage: Stage) -> Path:
        return self._folder / stage.key

    def _result(self, place: Path) -> dict[str, JsonValue]:
        made: dict[str, JsonValue] = json.loads((place / RESULT).read_text())
        return made


def _refuse_other(name: str, recorded: Mapping[str, JsonValue], again: Mapping[str, JsonValue]) -> None:
    """Raise ConflictError where a result made again differs from that of the rows in what both have."""
    for field in recorded.keys() & again.keys():
        if canonical_text(recorded[field]) != canonical_text(again[field]):
            here, there = (canonical_text(result[field])[:80] for result in (again, recorded))
            advice = "install the distributions that the corpus was read from"
            raise ConflictError(f"{name}: {field} is {here} here and {there} in the rows; {advice}")


def add(published: Path, entries: Sequence[JsonValue]) -> None:
    """Write an export again with further entries of the fact; rows and attached files stay as they are."""
    read = read_export(published)
    before = read.fact(REFERENCES)
    facts = {**read.facts, REFERENCES: [*(before if isinstance(before, list) else ()), *entries]}
    attached = {name: read_attachment(read.path, name) for name in attachment_names(read.path)}
    write_export(replace(read, facts=facts), published, attached)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing in published folders; return the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--published", type=Path, default=ROOT / "reports" / "published", help="folders with rows")
    parser.add_argument("--work", type=Path, help="where text and examples are made and kept; default: a new folder")
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as scratch:
        measuring = Measuring(given.work or Path(scratch))
        for folder in filter(has_export, sorted(given.published.iterdir())):
            entries = [*measuring.added(folder)]
            if entries:
                add(folder, entries)
                sys.stdout.write(f"{folder.name}: {', '.join(str(each['task']) for each in entries)}\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
