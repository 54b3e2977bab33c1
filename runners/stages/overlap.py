"""Count the dev examples of one task that the pretraining text holds, by the rule of `tasks.overlap`."""

import json
from collections.abc import Iterator

from runners.stages.declarations import OverlapStage
from runners.stages.workplace import Workplace
from search_space.declaration import JsonValue
from tasks.corpora.assembly import read_documents, read_summary
from tasks.corpora.document import Document
from tasks.downstream import find_task
from tasks.overlap.index import RUN_WORDS, overlap

WHICH = "overlapping.json"
EXAMPLES_NAMED = 5


def compute(stage: OverlapStage, workplace: Workplace) -> dict[str, JsonValue]:
    """Write which examples overlap and return how many, with the first few by where they and their text stand."""
    task = find_task(stage.task)
    documents = tuple(read_documents(workplace.inputs["documents"], "test"))
    dev = task.build(documents, stage.train_examples, stage.dev_examples).dev
    texts = [[text for text in (example.first, example.second) if text] for example in dev]
    found = overlap(texts, _training_documents(stage.task, workplace))
    which = {"sentences": found.sentences, "runs": found.runs, "too_short_to_tell": found.untold}
    (workplace.folder / WHICH).write_text(json.dumps(which))
    first = found.overlapping[:EXAMPLES_NAMED]
    return {
        "task": task.name,
        "examples": found.examples,
        "told": found.told,
        "overlapping": len(found.overlapping),
        "sentences": len(found.sentences),
        "runs": len(found.runs),
        "run_words": RUN_WORDS,
        "first": [f"dev example {number + 1} (in {found.found_in[number]})" for number in first],
    }


def _training_documents(task: str, workplace: Workplace) -> Iterator[Document]:
    corpus = workplace.inputs["corpus"]
    count = read_summary(corpus).splits["train"].documents
    for number, document in enumerate(read_documents(corpus, "train")):
        if number % 1000 == 0:
            workplace.progress(f"looking for {task} in the corpus", number / max(1, count))
        yield document
