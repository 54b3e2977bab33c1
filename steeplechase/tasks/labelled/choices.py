"""Encodes multiple choices: one sequence [CLS] context [SEP] ending [SEP] per ending. BERT, arXiv 1810.04805, 4.4."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steeplechase.tasks.labelled.encoding import EncodedExamples, encode_examples
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer

SPECIAL_TOKENS = 3  # [CLS] context [SEP] ending [SEP]


def encode_choices(examples: Sequence[Example], tokenizer: Tokenizer, length: int, endings: int) -> EncodedExamples:
    """Return the endings of every example as consecutive sequences; of each pair the longer text is truncated first.

    `truncated` counts examples with a truncated sequence, `answers_lost` examples whose right ending is no longer
    different from another one. Raises ValueError if an example has another number of endings than `endings`, or
    `length` is too small for one token of each text.
    """
    for example in examples:
        if len(example.endings) != endings:
            raise ValueError(f"row {example.row}: {len(example.endings)} endings, expected {endings}")
    pairs = [Example(example.first, ending) for example in examples for ending in example.endings]
    encoded = encode_examples(pairs, "pair", tokenizer, length)
    contexts = np.repeat([len(each) for each in tokenizer.encode([example.first for example in examples])], endings)
    ending_lengths = np.asarray([len(each) for each in tokenizer.encode([str(pair.second) for pair in pairs])])
    cut = (contexts + ending_lengths > length - SPECIAL_TOKENS).reshape(-1, endings).any(1)
    nothing = np.full(len(examples), -1, np.int32)
    labels = [-1 if example.label is None else example.label for example in examples]
    choices = replace(
        encoded,
        labels=np.asarray(labels, np.int32).reshape(-1),
        starts=nothing,
        ends=nothing,
        truncated=int(cut.sum()),
        rows=tuple(example.row for example in examples if example.row),
        endings=endings,
    )
    return replace(choices, answers_lost=sum(_lost(choices, number) for number in np.flatnonzero(cut).tolist()))


def _lost(choices: EncodedExamples, example: int) -> bool:
    """Return whether the right ending of an example has the same tokens as another one."""
    label = int(choices.labels[example])
    tokens = np.asarray(choices.tokens)[choices.sequences_of(np.asarray([example]))]
    return label >= 0 and bool((tokens == tokens[label]).all(1).sum() > 1)
