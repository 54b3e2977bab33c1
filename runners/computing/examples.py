"""Builds and encodes the examples of one downstream task and scores its reference models."""

from dataclasses import replace
from pathlib import Path

from runners.computing.frozen_examples import (
    PARTS,
    encode_frozen,
    encode_part,
    ngram_reference,
    part_counts,
    parts_of,
)
from runners.computing.rarified_examples import rarified_examples
from runners.computing.source_vocabulary import source_tokenizer
from runners.stages.contamination import ContaminationStage
from runners.stages.context import StageContext
from runners.stages.examples import ExamplesStage
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.corpora.assembly import read_documents
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.own_tasks.split import repeated_in_train
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores, learned_from
from steeplechase.tasks.references.most_frequent import majority_score, most_frequent_tag_scores
from steeplechase.tasks.references.texts import lead_scores, round_trip_scores
from steeplechase.tasks.squad.prepare import Amounts, prepare
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer

TRAINED_ON = "bag_of_words_examples"
SAMPLING_SEED = 18040746  # arbitrary; the sample is independent of the seeds of an experiment


def compute(stage: ExamplesStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the encoded examples; return their counts, the chance level and the scores of the reference models.

    Raises DataError if a file has mistakes or the documents give too few examples, ConflictError if a file changed.
    """
    task, tokenizer = stage.downstream, load_tokenizer(context.inputs["tokens"])
    context.progress(f"reading the examples of {task.name}", 0.0)
    if task.squad is not None:
        return _question_windows(stage, task, tokenizer, context)
    published = examples_of(task, stage, context.inputs.get("corpus"))
    rarified = rarified_examples(stage, published, tokenizer, context)
    examples, tokenizer = rarified.examples, rarified.tokenizer
    chance = majority_score(task, examples) if task.chance is None else task.chance_score
    if task.form == "span":  # the chance level of spans assumes known boundaries
        chance = None
    result: dict[str, JsonValue] = {"task": task.name, "chance": chance, **rarified.counts}
    if stage.own_task is not None:
        result["repeated_in_train"] = repeated_in_train(examples.train, examples.dev)
    if task.method != "fine_tune":
        return result | encode_frozen(stage, task, examples, tokenizer, context)
    of_sources = source_tokenizer(stage, examples.train, context.folder)
    augmented = replace(examples, train=with_swapped(examples.train)) if stage.swap_pairs else examples
    for part, part_examples in parts_of(augmented):
        context.progress(f"encoding {task.name}, {part}: {len(part_examples):,} examples", 0.3)
        (context.folder / part).mkdir(exist_ok=True)
        folder = context.folder / part
        encoded = encode_part(task, part_examples, tokenizer, stage.sequence_length, folder, of_sources)
        result[part] = part_counts(encoded, len(encoded), examples.left_out.get(part, 0))
    result |= _word_reference(task, examples, context)
    if task.form == "text_pair":
        result["round_trip"] = {**round_trip_scores(task, examples, tokenizer)}
    return result | (ngram_reference(task, examples, tokenizer, context) if task.ngram_reference else {})


def _word_reference(task: DownstreamTask, examples: Examples, context: StageContext) -> dict[str, JsonValue]:
    """Return the scores of the reference without context: a bag of words, most frequent tags, or a lead."""
    if task.form == "text_pair":
        return {"bag_of_words": {**lead_scores(task, examples)}, TRAINED_ON: len(examples.train)}
    if task.form == "tags":
        return {"bag_of_words": {**most_frequent_tag_scores(task, examples)}, TRAINED_ON: len(examples.train)}
    context.progress(f"bag of words on {task.name}: {len(examples.train):,} examples", 0.6)
    scores = bag_of_words_scores(task, examples)
    if scores is None:
        return {"bag_of_words": None}
    return {"bag_of_words": {**scores}, TRAINED_ON: len(learned_from(examples.train))}


def with_swapped(pairs: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return the pairs, followed by the same pairs with their texts swapped: ELECTRA's `double_unordered`."""
    assert all(pair.second is not None and pair.answer is None for pair in pairs)
    return (*pairs, *(replace(pair, first=str(pair.second), second=pair.first) for pair in pairs))


def examples_of(task: DownstreamTask, stage: ExamplesStage | ContaminationStage, corpus: Path | None) -> Examples:
    """Return a task's examples, from its files or built from the documents of a corpus. Raises DataError."""
    return _from_documents(task, stage, corpus) if task.files is None else _from_files(task, stage)


def _from_documents(task: DownstreamTask, stage: ExamplesStage | ContaminationStage, corpus: Path | None) -> Examples:
    assert task.build is not None
    assert corpus is not None
    assert stage.dev_examples is not None
    documents = tuple(read_documents(corpus, "test"))
    examples = task.build(documents, stage.train_examples or 0, stage.dev_examples)
    if not examples.dev or (not examples.train and task.method != "minimal_pairs"):
        counts = f"{len(examples.train)} train and {len(examples.dev)} dev examples"
        message = f"{task.name}: build returned {counts} from {len(documents)} documents; it needs some of both"
        raise DataError(f"{message}. `steeplechase check FOLDER` measures a plugin's task on the experiment's corpus")
    return examples


def _from_files(task: DownstreamTask, stage: ExamplesStage | ContaminationStage) -> Examples:
    """Return the examples of the files in their order; random samples of train and dev if they are limited."""
    assert task.files is not None
    assert stage.data is not None
    parts = stage.data.parts(task.files)
    refuse_changed(task, stage)
    examples = {part: read.examples for part, read in parts.items()}
    train = _sample(examples.get("train", ()), stage.train_examples)
    dev = _sample(examples["dev"], stage.dev_examples)
    left_out = {part: read.left_out for part, read in parts.items()}
    others = {part: examples[part] for part in examples if part not in PARTS}
    return Examples(train, dev, others, left_out)


def refuse_changed(task: DownstreamTask, stage: ExamplesStage | ContaminationStage) -> None:
    """Raise ConflictError if the hashes of a task's files are not those in the stage's key."""
    assert task.files is not None
    assert stage.data is not None
    if stage.data.inputs(task.files) != stage.read:
        raise ConflictError(f"the files of {task.name} changed after the run began; run again")


def _question_windows(
    stage: ExamplesStage, task: DownstreamTask, tokenizer: Tokenizer, context: StageContext
) -> dict[str, JsonValue]:
    """Write the windows of SQuAD's questions and return their counts. Raises DataError and ConflictError."""
    assert task.files is not None
    assert task.squad is not None
    assert stage.data is not None
    files = {part: stage.data.questions(task.files, part, task.squad) for part in task.files.needed}
    refuse_changed(task, stage)
    amounts = Amounts(stage.train_examples, stage.dev_examples, stage.sequence_length)
    counts = prepare(files["train"], files["dev"], tokenizer, amounts, context.folder, context.progress)
    return {"task": task.name, "chance": None, "bag_of_words": None, **counts}


def _sample(examples: tuple[Example, ...], limit: int | None) -> tuple[Example, ...]:
    """Return at most `limit` examples, drawn without replacement, in their order."""
    if limit is None or len(examples) <= limit:
        return examples
    chosen = stream(SAMPLING_SEED, "rows of a task").choice(len(examples), limit, replace=False)
    return tuple(examples[row] for row in sorted(chosen))
