"""The examples of a rarified task: dev examples with a rare word, and the tokens of these words.

Schick and Schütze 2020, BERTRAM, arXiv 1910.07181, section 4.
"""

import json
from dataclasses import dataclass, replace

from runners.stages.context import StageContext
from runners.stages.examples import ExamplesStage
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.result_files import RARE_WORDS
from steeplechase.tasks.labelled.task import Examples
from steeplechase.tasks.own_tasks.rarified import ResolvedRarified
from steeplechase.tasks.rare_words.rarification import TokenizerWithWords, rare_synonyms, rarify, word_counts
from steeplechase.tasks.references.bag_of_words import label_classifier, learned_from
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokens import read_tokens

WORDS_ONLY = 1
"""The classifier counts single words, so that a masked word takes no other feature with it."""


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
