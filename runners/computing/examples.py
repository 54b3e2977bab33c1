"""Builds and encodes the examples of one downstream task and scores its reference models."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runners.stages.context import StageContext
from runners.stages.examples import ExamplesStage
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import RARE_WORDS, SOURCE_TOKENIZER
from steeplechase.tasks.labelled.encoding import EncodedExamples, encode_examples, save_examples
from steeplechase.tasks.labelled.forms import (
    encode_choices,
    encode_pairs,
    encode_text_pairs,
    encode_words,
    save_groups,
    save_text_pairs,
    save_words,
)
from steeplechase.tasks.labelled.scoring import score
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.own_tasks.derived import ResolvedRarified
from steeplechase.tasks.own_tasks.table import repeated_in_train
from steeplechase.tasks.rare_words.rarification import TokenizerWithWords, rare_synonyms, rarify, word_counts
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores, label_classifier, learned_from
from steeplechase.tasks.references.extractive import Asked, extractive_scores, visible
from steeplechase.tasks.references.most_frequent import (
    lead_scores,
    majority_score,
    most_frequent_tag_scores,
    round_trip_scores,
)
from steeplechase.tasks.references.trigrams import ngram_scores
from steeplechase.tasks.squad.official_metrics import squad_scores
from steeplechase.tasks.squad.prepare import DEV, Amounts, prepare
from steeplechase.tasks.squad.windows import load_questions
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer, train_tokenizer
from steeplechase.tasks.tokens import read_tokens

WORDS_ONLY = 1
"""The classifier counts single words, so that a masked word takes no other feature with it."""
PARTS = ("train", "dev")
TRAINED_ON = "bag_of_words_examples"


@dataclass(frozen=True)
class RarifiedExamples:
    """Examples whose dev part is rarified, the tokenizer that encodes them, and what the result tells of them."""

    examples: Examples
    tokenizer: Tokenizer
    counts: dict[str, JsonValue]


def rarified_examples(
    stage: ExamplesStage, examples: Examples, tokenizer: Tokenizer, context: StageContext
) -> RarifiedExamples:
    """Return the examples of a rarified task, and write its rare words; other tasks' are returned as they are.

    Raises DataError where no dev example is left, ConflictError if the file of synonyms changed.
    """
    own = stage.own_task
    if not isinstance(own, ResolvedRarified):
        return RarifiedExamples(examples, tokenizer, {})
    assert stage.synonyms is not None
    if stage.synonyms.inputs() != stage.synonyms_read:
        raise ConflictError(f"{stage.synonyms.located()} changed after the run began; run again")
    synonyms = stage.synonyms.read()
    context.progress(f"rarifying {stage.task}: counting words", 0.1)
    tokens = read_tokens(context.inputs["tokens"] / "train.npy")[: own.text_tokens]
    every = sorted({*synonyms, *(each for others in synonyms.values() for each in others)})
    counts = word_counts(every, tokens, tokenizer)
    rare = rare_synonyms(synonyms, counts, own.fewest_occurrences, own.rarer_than)
    kept = rarify(examples.dev, label_classifier(learned_from(examples.train), WORDS_ONLY), rare)
    if not kept:
        limits = f"{own.fewest_occurrences} to {own.rarer_than - 1} occurrences in the pretraining text"
        reason = f"none of {len(examples.dev)} dev examples depends on a word that has a synonym of {limits}"
        raise DataError(f"fine_tuning.own_tasks.{stage.task}: {reason}; {len(rare)} words have one")
    words = sorted({each.synonym for each in kept})
    (context.folder / RARE_WORDS).write_text(json.dumps(words))
    dev = tuple(each.example for each in kept)
    left_out = {**examples.left_out, "dev": examples.left_out.get("dev", 0) + len(examples.dev) - len(dev)}
    if own.words is not None:
        tokenizer = TokenizerWithWords(tokenizer, words, own.words.usage == "slash")
    kept_examples = replace(examples, dev=dev, others={}, left_out=left_out)
    return RarifiedExamples(kept_examples, tokenizer, {"rare_words": len(words)})


def compute(stage: ExamplesStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the encoded examples; return their counts, the chance level and the scores of the reference models.

    Raises DataError if a file has mistakes or the documents give too few examples, ConflictError if a file changed.
    """
    task, tokenizer = stage.downstream, load_tokenizer(context.inputs["tokens"])
    context.progress(f"reading the examples of {task.name}", 0.0)
    if task.squad is not None:
        return _question_windows(stage, task, tokenizer, context)
    published = stage.examples(context.inputs.get("corpus"))
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
        if task.form == "span" and part == DEV:
            result["extractive"] = _span_reference(task, part_examples, encoded)
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


def _span_reference(task: DownstreamTask, dev: Sequence[Example], encoded: EncodedExamples) -> dict[str, JsonValue]:
    """Return the scores of the rules of extractive questions on what truncation left of the contexts."""
    asked, answers = [*visible(dev, encoded)], [example.answer_text for example in dev]
    found = extractive_scores(asked, lambda texts: score(task, texts, answers))
    return {rule: {**scores} for rule, scores in found.items()}


def _window_reference(task: DownstreamTask, folder: Path) -> dict[str, JsonValue]:
    """Return the scores of the rules of extractive questions on whole paragraphs, which the windows cover."""
    assert task.squad is not None
    version, questions = task.squad, load_questions(folder)

    def scores(texts: Sequence[str]) -> dict[str, float]:
        predictions = {question.identifier: text for question, text in zip(questions, texts, strict=True)}
        found = squad_scores(questions, version, predictions).metrics
        return {metric: found[metric] for metric in task.metrics}

    asked = [Asked(question.text, question.context) for question in questions]
    found = extractive_scores(asked, scores, unanswerable=any(not question.answerable for question in questions))
    return {rule: {**by_metric} for rule, by_metric in found.items()}


def with_swapped(pairs: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return the pairs, followed by the same pairs with their texts swapped: ELECTRA's `double_unordered`."""
    assert all(pair.second is not None and pair.answer is None for pair in pairs)
    return (*pairs, *(replace(pair, first=str(pair.second), second=pair.first) for pair in pairs))


def _question_windows(
    stage: ExamplesStage, task: DownstreamTask, tokenizer: Tokenizer, context: StageContext
) -> dict[str, JsonValue]:
    """Write the windows of SQuAD's questions and return their counts. Raises DataError and ConflictError."""
    assert task.files is not None
    assert task.squad is not None
    assert stage.data is not None
    files = {part: stage.data.questions(task.files, part, task.squad) for part in task.files.needed}
    stage.refuse_changed()
    amounts = Amounts(stage.train_examples, stage.dev_examples, stage.sequence_length)
    counts = prepare(files["train"], files["dev"], tokenizer, amounts, context.folder, context.progress)
    extractive = _window_reference(task, context.folder / DEV)
    return {"task": task.name, "chance": None, "bag_of_words": None, "extractive": extractive, **counts}


def parts_of(examples: Examples) -> Iterator[tuple[str, tuple[Example, ...]]]:
    """Yield the name and the examples of every part: train, dev, then the further parts by name."""
    yield from zip(PARTS, (examples.train, examples.dev), strict=True)
    yield from sorted(examples.others.items())


def encode_frozen(
    stage: ExamplesStage, task: DownstreamTask, examples: Examples, tokenizer: Tokenizer, context: StageContext
) -> dict[str, JsonValue]:
    """Write the encoded examples; return their counts and the scores of the reference model.

    The reference of a linear probe is the most frequent tag of each word, that of minimal pairs an n-gram model.
    """
    result: dict[str, JsonValue] = {}
    for part, part_examples in parts_of(examples):
        context.progress(f"encoding {task.name}, {part}: {len(part_examples):,} examples", 0.3)
        (context.folder / part).mkdir(exist_ok=True)
        encoded = encode_part(task, part_examples, tokenizer, stage.sequence_length, context.folder / part)
        result[part] = part_counts(encoded, len(part_examples), examples.left_out.get(part, 0))
    if task.method == "minimal_pairs":
        return result | {"bag_of_words": None} | ngram_reference(task, examples, tokenizer, context)
    scores = most_frequent_tag_scores(task, examples)
    return result | {"bag_of_words": {**scores}, "bag_of_words_examples": len(examples.train)}


def ngram_reference(
    task: DownstreamTask, examples: Examples, tokenizer: Tokenizer, context: StageContext
) -> dict[str, JsonValue]:
    """Return the scores of the n-gram model of the pretraining tokens, as a field of the result."""
    context.progress(f"n-gram model on {task.name}", 0.7)
    return {"ngram": {**ngram_scores(task, examples, context.inputs["tokens"] / "train.npy", tokenizer)}}


def encode_part(
    task: DownstreamTask,
    examples: Sequence[Example],
    tokenizer: Tokenizer,
    length: int,
    folder: Path,
    source_tokenizer: Tokenizer | None = None,
) -> EncodedExamples:
    """Write the encoded examples of one part into an existing folder and return their sequences.

    Sources of text pairs may have a tokenizer of their own.
    """
    if task.form == "tags":
        words = encode_words(examples, tokenizer, length)
        save_words(words, folder)
        return words.sequences
    if task.form == "text_pair":
        pairs = encode_text_pairs(examples, tokenizer, length, source_tokenizer)
        save_text_pairs(pairs, folder)
        return pairs.sources
    if task.method == "minimal_pairs":
        save_groups(examples, folder)
        encoded = encode_pairs(examples, tokenizer, length)
    elif task.form == "choice":
        encoded = encode_choices(examples, tokenizer, length, task.sequences_per_example)
    else:
        encoded = encode_examples(examples, task.form, tokenizer, length)
    save_examples(encoded, folder)
    return encoded


def part_counts(encoded: EncodedExamples, examples: int, left_out: int) -> dict[str, JsonValue]:
    """Return the number of examples of one encoded part, and what truncation removed, for the ledger."""
    counts: dict[str, JsonValue] = {
        "examples": examples,
        "truncated_share": round(encoded.truncated_share, 4),
        "answers_lost": encoded.answers_lost,
    }
    return counts | ({"left_out": left_out} if left_out else {})


def source_tokenizer(stage: ExamplesStage, train: Sequence[Example], folder: Path) -> Tokenizer | None:
    """Write the sources' own tokenizer below a folder and return it; None if they have none.

    Raises DataError where the sources give no vocabulary of the size, or one in which every word is unknown.
    """
    if stage.source_tokenizer is None:
        return None
    size = stage.source_vocabulary_size
    assert size is not None
    place = f"{stage.task}: generation.source_encoder learns its vocabulary from {len(train):,} sources of training"
    texts = [example.first for example in train]
    try:
        tokenizer = train_tokenizer(stage.source_tokenizer, texts, size)
    except DataError as wrong:
        raise DataError([f"{place}: {line}" for line in wrong.lines]) from wrong
    if tokenizer.vocabulary_size > size:
        least = tokenizer.vocabulary_size
        raise DataError(f"{place}: {least:,} pieces at least, vocabulary_size is {size:,}; write {least:,} or more")
    if all(token == tokenizer.unknown for tokens in tokenizer.encode(texts) for token in tokens):
        raise DataError(f"{place}: with vocabulary_size {size:,} every word is unknown; enlarge it")
    (folder / SOURCE_TOKENIZER).mkdir(exist_ok=True)
    tokenizer.save(folder / SOURCE_TOKENIZER)
    return tokenizer
