"""The sequences of a split, read from the folder of the tokens stage and packed as its objective declares."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from search_space.objective import Objective
from search_space.objective.auxiliary_loss import WithAuxiliaryLosses
from search_space.objective.segment_pair import SegmentPair
from search_space.packing.sequences import SequenceSource, Text
from steeplechase.tasks.mentions.token_mentions import mention_file, read_entity_names, read_mentions
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokens import read_sentence_starts, read_tokens, sentence_file


def open_split(
    folder: Path, split: str, tokenizer: Tokenizer, sequence_length: int, objective: Objective
) -> SequenceSource:
    """Return the sequences of a split in the folder of the tokens stage. Raises CorruptionError."""
    packing = objective.packing
    sentences = np.empty(0, np.int64)
    if packing.reads_sentences:
        sentences = read_sentence_starts(sentence_file(folder, split))
    text = Text(read_tokens(folder / f"{split}.npy"), sentences, tokenizer, sequence_length)
    if packing.reads_mentions:
        mentions = read_mentions(mention_file(folder, split))
        text = replace(text, mentions=mentions, entity_names=read_entity_names(folder))
    return sequences_of(text, objective)


def sequences_of(text: Text, objective: Objective) -> SequenceSource:
    """Return the sequences of a text; pairs are in the relations that the objective, or a part of it, declares."""
    losses = objective.auxiliary_losses if isinstance(objective, WithAuxiliaryLosses) else ()
    pairs = next((each for each in losses if isinstance(each, SegmentPair)), None)
    return objective.packing.sequences_of(text, pairs)
