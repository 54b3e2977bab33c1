"""Counts the dev examples of one task that overlap with the pretraining text; see `tasks.contamination`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from foundation.schema import JsonValue
from runners.stages.context import StageContext
from runners.stages.declarations import ContaminationStage
from runners.stages.examples import examples_of, refuse_changed
from tasks.contamination.index import RUN_WORDS, overlap
from tasks.corpora.assembly import read_documents, read_summary
from tasks.corpora.document import Document
from tasks.downstream import find_task
from tasks.labelled.task import DownstreamTask, Example, Examples
from tasks.progress import place
from tasks.squad.subsets import taken

WHICH = "overlapping.json"
EXAMPLES_NAMED = 5


def compute(stage: ContaminationStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the overlapping examples and return their number, with the locations of the first few."""
    task = find_task(stage.task)
    dev = [*_judged(task, stage, context.inputs.get("documents"))]
    found = overlap([_texts(example) for _, example in dev], _training_documents(stage.task, context))
    which = {"sentences": found.sentences, "runs": found.runs, "too_short_to_tell": found.too_short}
    (context.folder / WHICH).write_text(json.dumps(which))
    places = _places(task, stage, {number: dev[number] for number in found.overlapping[:EXAMPLES_NAMED]})
    return {
        "task": task.name,
        "examples": found.examples,
        "told": found.tested,
        "overlapping": len(found.overlapping),
        "sentences": len(found.sentences),
        "runs": len(found.runs),
        "run_words": RUN_WORDS,
        "first": [f"{place} (in {found.sources[number]})" for number, place in places.items()],
    }


def _places(
    task: DownstreamTask, stage: ContaminationStage, asked: Mapping[int, tuple[str, Example]]
) -> dict[int, str]:
    """Return the locations of examples: SQuAD's identifier, a line of their file, else their number in dev."""
    if task.squad is not None:
        return {number: f"question {example.row}" for number, (_, example) in asked.items()}
    files = stage.data.located(task.files) if task.files is not None and stage.data is not None else {}
    places: dict[int, str] = {}
    for number, (part, example) in asked.items():
        line = _line(files[part], _texts(example)) if part in files else None
        places[number] = f"dev example {number + 1}" if line is None else f"{files[part].name}:{line}"
    return places


def _line(path: Path, texts: list[str]) -> int | None:
    with path.open(encoding="utf-8", errors="replace") as file:
        return next((number for number, line in enumerate(file, 1) if all(text in line for text in texts)), None)


def _judged(task: DownstreamTask, stage: ContaminationStage, documents: Path | None) -> Iterator[tuple[str, Example]]:
    if task.squad is None:
        return _asked(examples_of(task, stage, documents))
    assert task.files is not None
    assert stage.data is not None
    questions = stage.data.questions(task.files, "dev", task.squad).questions
    refuse_changed(task, stage)
    return (
        ("dev", Example(each.text, each.context, row=each.identifier))
        for each in taken(questions, stage.dev_examples)
    )


def _asked(examples: Examples) -> Iterator[tuple[str, Example]]:
    """Yield the evaluated examples with their part: dev, and further labelled parts."""
    yield from (("dev", example) for example in examples.dev)
    for part in sorted(examples.others):
        answered = (
            one for one in examples.others[part] if one.label is not None or one.value is not None or one.answer
        )
        yield from ((part, example) for example in answered)


def _texts(example: Example) -> list[str]:
    return [text for text in (example.first, example.second) if text]


def _training_documents(task: str, context: StageContext) -> Iterator[Document]:
    corpus = context.inputs["corpus"]
    count = read_summary(corpus).splits["train"].documents
    for number, document in enumerate(read_documents(corpus, "train")):
        context.progress(place(f"looking for {task} in the corpus", "text", number, count), number / max(1, count))
        yield document
