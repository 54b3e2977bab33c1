"""How training sequences are made of a split: one file per option of `search_space.packing`.

Each file defines `sequences_of(text, objective)`, the numbered sequences of a text.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from search_space.objective import Objective
from steeplechase.tasks.batches import SequenceSource
from steeplechase.tasks.mentions.token_mentions import EntityNames, mention_file, read_mentions
from steeplechase.tasks.packing.text import Text
from steeplechase.tasks.sentence_starts import read_sentence_starts, sentence_file
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokens import read_tokens

__all__ = ["Text", "open_split", "sequences_of"]


def open_split(
    folder: Path, split: str, tokenizer: Tokenizer, sequence_length: int, objective: Objective
) -> SequenceSource:
    """Return the sequences of a split in the folder of the tokens stage. Raises CorruptionError."""
    tokens = read_tokens(folder / f"{split}.npy")
    sentences = np.empty(0, np.int64)
    if objective.packing.reads_sentences:
        sentences = read_sentence_starts(sentence_file(folder, split))
    text = Text(tokens, sentences, tokenizer, sequence_length)
    if objective.packing.reads_mentions:
        mentions = read_mentions(mention_file(folder, split))
        text = replace(text, mentions=mentions, entity_names=EntityNames.load(folder))
    return sequences_of(text, objective)


def sequences_of(text: Text, objective: Objective) -> SequenceSource:
    """Return the sequences of a text, packed as the objective declares."""
    found: SequenceSource = import_module(f"steeplechase.tasks.packing.{objective.packing.kind}").sequences_of(
        text, objective
    )
    return found
