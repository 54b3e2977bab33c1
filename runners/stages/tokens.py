"""Trains the vocabulary on the training split, or reads it, and tokenizes the training and validation splits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from runners.stages.context import StageContext
from runners.stages.declarations import TokensStage
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.corpora.assembly import Split, read_documents, read_summary
from steeplechase.tasks.lexicon.token_senses import token_senses, write_token_senses
from steeplechase.tasks.mentions.mention import MentionSource
from steeplechase.tasks.mentions.token_mentions import (
    Entities,
    MentionCounts,
    mention_file,
    read_mentions,
    write_mentions,
)
from steeplechase.tasks.progress import Progress, place
from steeplechase.tasks.sentence_starts import sentence_file, write_sentence_starts
from steeplechase.tasks.tokenizer import Tokenizer, train_tokenizer
from steeplechase.tasks.tokens import TokenCounts, read_tokens, unigram_entropy, write_tokens

TOKENIZED: tuple[Split, ...] = ("train", "validation")


def compute(stage: TokensStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the vocabulary and one token array per split; if declared, sentence starts, supersenses and mentions.

    Return the token counts and the unigram entropy of the validation split.
    """
    corpus = context.inputs["corpus"]
    tokenizer = train_tokenizer(stage.tokenizer, _training_texts(corpus, context.progress), stage.vocabulary_size)
    tokenizer.save(context.folder)
    if stage.lexicon is not None:
        write_token_senses(token_senses(stage.lexicon.read(), tokenizer), context.folder)
    result: dict[str, JsonValue] = {
        "vocabulary": tokenizer.vocabulary_hash,
        "vocabulary_size": tokenizer.vocabulary_size,
    }
    if stage.mentions is not None:
        result["mentions"] = _write_mentions(stage.mentions, tokenizer, context)
    for split in TOKENIZED:
        texts = [document.text for document in read_documents(corpus, split)]
        single: dict[str, JsonValue] = {}
        if stage.sentences:
            path = sentence_file(context.folder, split)
            single = {"single_sentence_documents": write_sentence_starts(texts, tokenizer, path)}
        counts = write_tokens(texts, len(texts), tokenizer, context.folder / f"{split}.npy", context.progress)
        if stage.read is None:  # else the vocabulary is a checkpoint's, of which no other size can be had
            _refuse_unknown(split, counts, stage.vocabulary_size)
        result[split] = {"documents": counts.documents, "tokens": counts.tokens, "unknown": counts.unknown, **single}
        if split == "validation" and counts.tokens:
            tokens = read_tokens(context.folder / f"{split}.npy")
            result["validation_unigram_entropy"] = unigram_entropy(tokens, tokenizer)
    return result


def _refuse_unknown(split: Split, counts: TokenCounts, vocabulary_size: int) -> None:
    """Raise DataError if every word is unknown, so that a model would learn to predict [UNK] alone."""
    words = counts.tokens - counts.documents  # a separator ends each document
    if counts.unknown and counts.unknown >= words:
        raise DataError(
            f"all {words:,} words of the {split} split are unknown to the vocabulary. vocabulary_size is "
            f"{vocabulary_size:,}: enlarge it, or choose another tokenizer"
        )


def _write_mentions(source: MentionSource, tokenizer: Tokenizer, context: StageContext) -> dict[str, JsonValue]:
    """Write the mentions of both splits and the names of their entities; return their numbers by split."""
    finder, entities, found = source.finder(), Entities(), dict[Split, MentionCounts]()
    for split in TOKENIZED:
        context.progress(f"finding the mentions of the {split} split", 0.0)
        documents = read_documents(context.inputs["corpus"], split)
        found[split] = write_mentions(documents, finder, tokenizer, entities, mention_file(context.folder, split))
    entities.save(context.folder)
    counts: dict[str, JsonValue] = {}
    for split, each in found.items():
        mentioned = read_mentions(mention_file(context.folder, split))[:, 2]
        without_other = int(np.isin(mentioned, [*entities.alone()]).sum())
        counts[split] = {"kept": each.kept, "left_out": each.left_out, "without_other": without_other}
    return counts


def _training_texts(corpus: Path, progress: Progress) -> Iterator[str]:
    count = read_summary(corpus).splits["train"].documents
    for number, document in enumerate(read_documents(corpus, "train"), start=1):
        progress(place("reading the training split", "text", number, count), number / max(1, count))
        yield document.text
    progress(f"training the vocabulary: {count:,} texts", 0.0)
