"""Loads a fine-tuned writer of texts and generates texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from runners.computing.generated_texts import continued, read_writer
from steeplechase.foundation.errors import ConfigurationError, DataError, first_lines
from steeplechase.ledger.checkpoints import TunedTrial
from steeplechase.models.generation.search import SearchSettings
from steeplechase.tasks.tokenizer import load_tokenizer

SOURCES_AT_A_TIME = 64


@dataclass(frozen=True)
class Search:
    """Settings of the command line."""

    beams: int
    length_penalty: float
    longest: int


def texts_of(tuned: TunedTrial, sources: Sequence[str], search: Search, name: str) -> list[str]:
    """Return the text that the trial generates for each source, a line of the file that messages call `name`.

    Raises DataError for sources that are too long, ConfigurationError for more beams than tokens.
    """
    tokenizer, architecture = load_tokenizer(tuned.tokens), tuned.architecture
    if search.beams > (size := architecture.vocabulary_size):
        raise ConfigurationError(f"--beams: {search.beams} beams of a vocabulary of {size}; allowed: 1 to {size}")
    writer, of_source = read_writer(tuned.stage, architecture, tokenizer)
    encoded = [[of_source.classify, *tokens, of_source.separate] for tokens in of_source.encode(sources)]
    before = max(map(len, encoded)) if writer.equal_sources else 0  # a target behind its source needs positions too
    reasons = [architecture.too_long(len(tokens) + writer.equal_sources) for tokens in encoded]
    too_long = [f"{name}:{number}: {reason}" for number, reason in enumerate(reasons, 1) if reason]
    if too_long:
        raise DataError(first_lines(too_long, lambda more: f"{name}: {more} more lines that are too long"))
    room = (architecture.longest_sequence or before + search.longest + 1) - max(1, before)  # 1: for [CLS]
    settings = SearchSettings(
        end=tokenizer.separate,
        longest=min(search.longest, room),
        beams=search.beams,
        length_penalty=search.length_penalty,
        forbidden=(tokenizer.pad, tokenizer.classify, tokenizer.mask),
    )
    texts = [""] * len(encoded)
    for rows in writer.batches(np.asarray([len(each) for each in encoded], np.int32), SOURCES_AT_A_TIME):
        lengths = [len(encoded[row]) for row in rows]
        tokens = torch.full((len(rows), max(lengths)), of_source.pad)
        for place, row in enumerate(rows):
            tokens[place, : lengths[place]] = torch.tensor(encoded[row])
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        found = continued(writer, tokens, None if bool(mask.all()) else mask, settings)
        for row, hypothesis in zip(rows, found, strict=True):
            texts[row] = tokenizer.decode(hypothesis.tokens)
    return texts
