"""Trains the vocabulary on the training split, or reads it, and tokenizes the training and validation splits."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from runners.stages.context import StageContext
from runners.stages.stage import Stage, StageDeclaration
from steeplechase.configuration.experiment import Data, Experiment, objectives_of
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.corpora.assembly import DuplicateFilter, Split, read_documents, read_summary
from steeplechase.tasks.lexicon.supersenses import Lexicon
from steeplechase.tasks.mentions.declaration import Mentions, MentionSource
from steeplechase.tasks.progress import Progress, place
from steeplechase.tasks.tokenizer import Tokenizer, TokenizerDeclaration, load_tokenizer, train_tokenizer

if TYPE_CHECKING:
    from steeplechase.tasks.tokens import TokenCounts

TOKENIZED: tuple[Split, ...] = ("train", "validation")


class TokensStage(StageDeclaration):
    """Train or read the vocabulary and tokenize the splits. Reads `corpus`.

    Of another text than the experiment's it reads `held_out` too, the experiment's, whose validation split it has and
    whose held-out documents it leaves out of training; and `vocabulary`, the experiment's, if it has no own.
    """

    stage: ClassVar[str] = "tokens"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("tokenizers",)
    hashed_instead: ClassVar[dict[str, str]] = {
        "tokenizer": "read",
        "lexicon": "lexicon_read",
        "mentions": "mentions_read",
    }
    tokenizer: TokenizerDeclaration
    read: JsonValue
    """The training settings of the vocabulary, or the content hash of its file."""
    vocabulary_size: Count
    sentences: bool = False
    """Whether the first token of every sentence is stored too, for objectives that read pairs of segments."""
    lexicon: Lexicon | None = None
    """The supersenses of words; those of the vocabulary's tokens are stored too."""
    lexicon_read: JsonValue = None
    """The content hash of the lexicon."""
    mentions: Mentions | None = None
    """Where entities are mentioned; the mentions' tokens and the entities' names are stored too."""
    mentions_read: JsonValue = None
    """The content hash of the mentions."""

    @classmethod
    def of(cls, experiment: Experiment, corpus: Stage) -> Stage:
        """Return the stage of an experiment's vocabulary and tokens. Raises DataError where a file is missing."""
        lexicon, mentions = experiment.lexicon, experiment.mentions
        declaration = cls(
            tokenizer=experiment.tokenizer,
            read=experiment.tokenizer.inputs(),
            vocabulary_size=experiment.baseline.architecture.vocabulary_size,
            sentences=any(objective.packing.reads_sentences for objective in objectives_of(experiment)),
            lexicon=lexicon,
            lexicon_read=None if lexicon is None else lexicon.inputs(),
            mentions=mentions,
            mentions_read=None if mentions is None else mentions.inputs(),
        )
        return Stage(declaration, {"corpus": corpus})

    @classmethod
    def of_data(cls, experiment: Experiment, data: Data, text: Stage, shared: Mapping[str, Stage]) -> Stage:
        """Return the stage of a text and vocabulary of some arms; `shared` has the experiment's own, by input."""
        own = experiment if data.tokenizer is None else experiment.with_parts(tokenizer=data.tokenizer)
        held_out = {} if data.corpus is None else {"held_out": shared["held_out"]}
        vocabulary = {"vocabulary": shared["vocabulary"]} if data.tokenizer is None else {}
        return Stage(cls.of(own, text).declaration, {"corpus": text, **held_out, **vocabulary})

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write the vocabulary and one token array per split; if declared, sentence starts, supersenses and mentions.

        Return the token counts and the unigram entropy of the validation split.
        """
        from steeplechase.tasks.lexicon.supersenses import token_senses, write_token_senses
        from steeplechase.tasks.tokens import (
            read_tokens,
            sentence_file,
            unigram_entropy,
            write_sentence_starts,
            write_tokens,
        )

        corpus, held_out = context.inputs["corpus"], context.inputs.get("held_out")
        tokenizer = (
            load_tokenizer(context.inputs["vocabulary"])
            if "vocabulary" in context.inputs
            else train_tokenizer(self.tokenizer, _training_texts(corpus, context.progress), self.vocabulary_size)
        )
        tokenizer.save(context.folder)
        if self.lexicon is not None:
            write_token_senses(token_senses(self.lexicon.read(), tokenizer), context.folder)
        result: dict[str, JsonValue] = {
            "vocabulary": tokenizer.vocabulary_hash,
            "vocabulary_size": tokenizer.vocabulary_size,
        }
        if self.mentions is not None:
            result["mentions"] = _write_mentions(self.mentions, tokenizer, context)
        for split in TOKENIZED:
            texts = _texts(corpus, held_out, split)
            single: dict[str, JsonValue] = {}
            if self.sentences:
                path = sentence_file(context.folder, split)
                single = {"single_sentence_documents": write_sentence_starts(texts, tokenizer, path)}
            counts = write_tokens(texts, len(texts), tokenizer, context.folder / f"{split}.npy", context.progress)
            if self.read is None:  # else the vocabulary is a checkpoint's, of which no other size can be had
                _refuse_unknown(split, counts, self.vocabulary_size)
            counted = {"documents": counts.documents, "tokens": counts.tokens, "unknown": counts.unknown}
            result[split] = {**counted, **single}
            if split == "validation" and counts.tokens:
                tokens = read_tokens(context.folder / f"{split}.npy")
                result["validation_unigram_entropy"] = unigram_entropy(tokens, tokenizer)
        return result


def _refuse_unknown(split: Split, counts: "TokenCounts", vocabulary_size: int) -> None:
    """Raise DataError if every word is unknown, so that a model would learn to predict [UNK] alone."""
    words = counts.tokens - counts.documents  # a separator ends each document
    if counts.unknown and counts.unknown >= words:
        raise DataError(
            f"all {words:,} words of the {split} split are unknown to the vocabulary. vocabulary_size is "
            f"{vocabulary_size:,}: enlarge it, or choose another tokenizer"
        )


def _write_mentions(source: MentionSource, tokenizer: Tokenizer, context: StageContext) -> dict[str, JsonValue]:
    """Write the mentions of both splits and the names of their entities; return their numbers by split."""
    import numpy as np

    from steeplechase.tasks.mentions.token_mentions import (
        Entities,
        MentionCounts,
        mention_file,
        read_mentions,
        write_mentions,
    )

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


def _texts(corpus: Path, held_out: Path | None, split: Split) -> list[str]:
    """Return the texts of a split; beside `held_out` its validation split, and training texts without repeats."""
    if held_out is None:
        return [document.text for document in read_documents(corpus, split)]
    if split == "validation":
        return _texts(held_out, None, split)
    known = DuplicateFilter()
    for left_out in ("validation", "test"):
        for text in _texts(held_out, None, left_out):
            known.classify(text)
    return [text for text in _texts(corpus, None, split) if known.classify(text) == "new"]


def _training_texts(corpus: Path, progress: Progress) -> Iterator[str]:
    count = read_summary(corpus).splits["train"].documents
    for number, document in enumerate(read_documents(corpus, "train"), start=1):
        progress(place("reading the training split", "text", number, count), number / max(1, count))
        yield document.text
    progress(f"training the vocabulary: {count:,} texts", 0.0)
