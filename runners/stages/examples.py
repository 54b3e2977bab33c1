"""Builds and encodes the examples of one downstream task, and scores its bag-of-words baseline."""

from dataclasses import replace
from pathlib import Path

from foundation.errors import ConflictError
from foundation.randomness import stream
from foundation.schema import JsonValue
from runners.stages.context import StageContext
from runners.stages.declarations import ContaminationStage, ExamplesStage
from runners.stages.frozen_examples import PARTS, encode_frozen, figures_of, ngram_reference, parts_of
from tasks.bag_of_words import bag_of_words_scores, learned_from
from tasks.corpora.assembly import read_documents
from tasks.downstream import find_task
from tasks.labelled.encoding import encode_examples, save_examples
from tasks.labelled.task import DownstreamTask, Example, Examples
from tasks.squad.prepare import Amounts, prepare
from tasks.tokenizer import WordPiece, load_tokenizer

DRAWING_SEED = 18040746  # arbitrary; the sample is independent of the seeds of an experiment


def compute(stage: ExamplesStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the encoded examples and return how many there are, the chance level and the bag-of-words baseline."""
    task, tokenizer = find_task(stage.task), load_tokenizer(context.inputs["tokens"])
    context.progress(f"making {task.name}", 0.0)
    if task.squad is not None:
        return _windows(stage, task, tokenizer, context)
    examples = examples_of(task, stage, context.inputs.get("corpus"))
    chance = None if task.form == "span" else task.chance_score  # the chance level of spans assumes known boundaries
    result: dict[str, JsonValue] = {"task": task.name, "chance": chance}
    if task.method != "fine_tune":
        return result | encode_frozen(stage, task, examples, tokenizer, context)
    taught = replace(examples, train=with_swapped(examples.train)) if stage.swap_pairs else examples
    for part, chosen in parts_of(taught):
        context.progress(f"encoding {task.name}, {part}: {len(chosen):,} examples", 0.3)
        encoded = encode_examples(chosen, task.form, tokenizer, stage.sequence_length)
        (context.folder / part).mkdir(exist_ok=True)
        save_examples(encoded, context.folder / part)
        result[part] = figures_of(encoded, len(encoded), examples.left_out.get(part, 0))
    context.progress(f"bag of words on {task.name}: {len(examples.train):,} examples", 0.6)
    scores = bag_of_words_scores(task, examples)
    result["bag_of_words"] = None if scores is None else {**scores}
    if scores is not None:
        result["bag_of_words_examples"] = len(learned_from(examples.train))
    return result | (ngram_reference(task, examples, tokenizer, context) if task.ngram_reference else {})


def with_swapped(pairs: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return the pairs, followed by the pairs with swapped texts: ELECTRA's `double_unordered`."""
    assert all(pair.second is not None and pair.answer is None for pair in pairs)
    return (*pairs, *(replace(pair, first=str(pair.second), second=pair.first) for pair in pairs))


def examples_of(task: DownstreamTask, stage: ExamplesStage | ContaminationStage, corpus: Path | None) -> Examples:
    """Return a task's examples, from its files or from the corpus of its documents."""
    return _made(task, stage, corpus) if task.files is None else _read(task, stage)


def _made(task: DownstreamTask, stage: ExamplesStage | ContaminationStage, corpus: Path | None) -> Examples:
    assert task.build is not None
    assert corpus is not None
    assert stage.dev_examples is not None
    documents = tuple(read_documents(corpus, "test"))
    return task.build(documents, stage.train_examples or 0, stage.dev_examples)


def _read(task: DownstreamTask, stage: ExamplesStage | ContaminationStage) -> Examples:
    """Return the examples of the files, or a random sample in the order of the file."""
    assert task.files is not None
    assert stage.data is not None
    parts = stage.data.parts(task.files)
    refuse_changed(task, stage)
    taken = {part: read.examples for part, read in parts.items()}
    taken["train"] = _drawn(taken.get("train", ()), stage.train_examples)
    taken["dev"] = _drawn(taken["dev"], stage.dev_examples)
    left_out = {part: read.left_out for part, read in parts.items()}
    others = {part: examples for part, examples in taken.items() if part not in PARTS}
    return Examples(taken["train"], taken["dev"], others, left_out)


def refuse_changed(task: DownstreamTask, stage: ExamplesStage | ContaminationStage) -> None:
    """Raise ConflictError if a task's files differ from those in the stage's key."""
    assert task.files is not None
    assert stage.data is not None
    if stage.data.inputs(task.files) != stage.read:
        raise ConflictError(f"the files of {task.name} are not those that the run began with; run again")


def _windows(
    stage: ExamplesStage, task: DownstreamTask, tokenizer: WordPiece, context: StageContext
) -> dict[str, JsonValue]:
    """Write the windows of SQuAD's questions and return how many there are. Raises DataError and ConflictError."""
    assert task.files is not None
    assert task.squad is not None
    assert stage.data is not None
    files = {part: stage.data.questions(task.files, part, task.squad) for part in task.files.needed}
    refuse_changed(task, stage)
    amounts = Amounts(stage.train_examples, stage.dev_examples, stage.sequence_length)
    figures = prepare(files["train"], files["dev"], tokenizer, amounts, context.folder, context.progress)
    return {"task": task.name, "chance": None, "bag_of_words": None, **figures}


def _drawn(examples: tuple[Example, ...], most: int | None) -> tuple[Example, ...]:
    if most is None or len(examples) <= most:
        return examples
    chosen = stream(DRAWING_SEED, "rows of a task").choice(len(examples), most, replace=False)
    return tuple(examples[row] for row in sorted(chosen))
