"""Counts the dev examples of one task that occur in the pretraining text; `tasks/contamination` has the rules."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from runners.stages.context import StageContext
from runners.stages.examples import ExamplesStage, TaskExamplesStage
from runners.stages.stage import Stage
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.corpora.assembly import read_documents, read_summary
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.progress import place

OVERLAPPING_FILE = "overlapping.json"
EXAMPLES_LOCATED = 5


class ContaminationStage(TaskExamplesStage):
    """Count the dev examples of a task that overlap with the pretraining text.

    Reads `corpus` and, for tasks built from documents, `documents`.
    """

    stage: ClassVar[str] = "contamination"
    code_version: ClassVar[int] = 1
    hashed_at_default: ClassVar[tuple[str, ...]] = ("data", "read")

    @classmethod
    def of(cls, examples: Stage, corpus: Stage) -> Stage:
        """Return the stage of the task of a stage of examples."""
        declaration = examples.declaration
        assert isinstance(declaration, ExamplesStage)
        source = {"documents": examples.inputs["corpus"]} if "corpus" in examples.inputs else {}
        fields = {name: getattr(declaration, name) for name in cls.model_fields}
        return Stage(cls(**fields), {"corpus": corpus, **source})

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write the indices of the overlapping examples; return their number and the locations of the first few."""
        from steeplechase.tasks.contamination.index import RUN_WORDS, overlap

        task = self.downstream
        dev = [*_evaluated_examples(task, self, context.inputs.get("documents"))]
        overlaps = overlap([_texts(example) for _, example in dev], _training_documents(self.task, context))
        indices = {"sentences": overlaps.sentences, "runs": overlaps.runs, "too_short_to_tell": overlaps.too_short}
        (context.folder / OVERLAPPING_FILE).write_text(json.dumps(indices))
        first = {index: dev[index] for index in overlaps.overlapping[:EXAMPLES_LOCATED]}
        locations = _locations(task, self, first)
        return {
            "task": task.name,
            "examples": overlaps.examples,
            "told": overlaps.tested,
            "overlapping": len(overlaps.overlapping),
            "sentences": len(overlaps.sentences),
            "runs": len(overlaps.runs),
            "run_words": RUN_WORDS,
            "first": [f"{location} (in {overlaps.sources[index]})" for index, location in locations.items()],
        }


def _locations(
    task: DownstreamTask, stage: ContaminationStage, examples: Mapping[int, tuple[str, Example]]
) -> dict[int, str]:
    """Return the location of each example: SQuAD's identifier, the line of its file, or its number in dev."""
    if task.squad is not None:
        return {index: f"question {example.row}" for index, (_, example) in examples.items()}
    files = stage.data.located(task.files) if task.files is not None and stage.data is not None else {}
    locations: dict[int, str] = {}
    for index, (part, example) in examples.items():
        line = _line_number(files[part], _texts(example)) if part in files else None
        locations[index] = f"dev example {index + 1}" if line is None else f"{files[part].name}:{line}"
    return locations


def _line_number(path: Path, texts: list[str]) -> int | None:
    with path.open(encoding="utf-8", errors="replace") as file:
        return next((number for number, line in enumerate(file, 1) if all(text in line for text in texts)), None)


def _evaluated_examples(
    task: DownstreamTask, stage: ContaminationStage, documents: Path | None
) -> Iterator[tuple[str, Example]]:
    """Return the part and the texts of every example that is evaluated."""
    if task.squad is None:
        return _labelled_examples(stage.examples(documents))
    from steeplechase.tasks.squad.prepare import taken

    assert task.files is not None
    assert stage.data is not None
    questions = stage.data.questions(task.files, "dev", task.squad).questions
    stage.refuse_changed()
    return (
        ("dev", Example(question.text, question.context, row=question.identifier))
        for question in taken(questions, stage.dev_examples)
    )


def _labelled_examples(examples: Examples) -> Iterator[tuple[str, Example]]:
    """Yield the part and the example, for dev and the labelled examples of the further parts."""
    yield from (("dev", example) for example in examples.dev)
    for part in sorted(examples.others):
        for example in examples.others[part]:
            if example.label is not None or example.value is not None or example.answer:
                yield part, example


def _texts(example: Example) -> list[str]:
    return [text for text in (example.first, example.second, *example.endings) if text]


def _training_documents(task: str, context: StageContext) -> Iterator[Document]:
    corpus = context.inputs["corpus"]
    count = read_summary(corpus).splits["train"].documents
    for number, document in enumerate(read_documents(corpus, "train")):
        context.progress(
            place(f"searching the corpus for examples of {task}", "text", number, count), number / max(1, count)
        )
        yield document
