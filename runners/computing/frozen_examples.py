"""Encodes the examples of one part by form and method of its task; reference models of a frozen encoder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from runners.stages.context import StageContext
from runners.stages.examples import ExamplesStage
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.labelled.choices import encode_choices
from steeplechase.tasks.labelled.encoding import EncodedExamples, encode_examples, save_examples
from steeplechase.tasks.labelled.minimal_pairs import encode_pairs, save_groups
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.labelled.text_pairs import encode_text_pairs, save_text_pairs
from steeplechase.tasks.labelled.words import encode_words, save_words
from steeplechase.tasks.references.most_frequent import most_frequent_tag_scores
from steeplechase.tasks.references.trigrams import ngram_scores
from steeplechase.tasks.tokenizer import Tokenizer

PARTS = ("train", "dev")


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
