"""Replaces mentions by names of other entities of their type. Xiong et al. 2019 (WKLM), arXiv 1912.09637."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from search_space.packing.mentions import NO_MENTION, MentionSequences
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.tokenizer import Tokenizer

Numbers = NDArray[np.int64]
NO_BOUNDARY = -1
"""Of a mention that is not classified, and of rows with fewer mentions than others."""


@dataclass(frozen=True)
class Replaced:
    """Sequences in which some mentions are replaced; a name may be longer or shorter than the one before."""

    tokens: Numbers
    """[CLS], the text, [SEP], padding; what is too long is cut off at its end [batch seq]."""
    inside: NDArray[np.bool_]
    """Whether each token is part of a mention [batch seq]."""
    left: Numbers
    """The position before each mention, or NO_BOUNDARY [batch mentions]."""
    right: Numbers
    """The position after it, or NO_BOUNDARY [batch mentions]."""
    replaced: NDArray[np.bool_]
    """Whether each mention names another entity than the text [batch mentions]."""


def chosen(count: int, rate: float, random: np.random.Generator) -> Numbers:
    """Return which of `count` mentions in a row are replaced: on average a share `rate`, and never two adjacent ones.

    All choices of the same size are equally likely: a choice of k without neighbours is one of any k of n - k + 1.
    """
    wanted = min(int(np.floor(rate * count + random.random())), (count + 1) // 2)
    places = np.sort(random.choice(count - wanted + 1, wanted, replace=False))
    return np.asarray(places + np.arange(wanted))


def replace_entities(
    sequences: MentionSequences, rate: float, tokenizer: Tokenizer, random: np.random.Generator, copies: int | None
) -> Replaced:
    """Return the sequences with replaced mentions.

    With `copies`, a sequence has so many versions, repeated in the order of its epochs; they depend on its number and
    the seed alone. A mention stays if its type has no other entity, or if the drawn name is the one in the text.
    """
    rows = []
    for row in range(len(sequences.tokens)):
        if copies is not None:
            epoch = int(sequences.epochs[row]) % copies
            random = stream(sequences.seed, "entity replacement", int(sequences.numbers[row]), epoch)
        rows.append(_rewritten(sequences, row, rate, tokenizer, random))
    return Replaced(*(np.stack(column) for column in zip(*rows, strict=True)))


def _rewritten(
    sequences: MentionSequences, row: int, rate: float, tokenizer: Tokenizer, random: np.random.Generator
) -> tuple[Numbers, NDArray[np.bool_], Numbers, Numbers, NDArray[np.bool_]]:
    """Return the fields of `Replaced` of one sequence."""
    before, mentions = sequences.tokens[row], sequences.mentions[row]
    found = mentions[mentions[:, 0] != NO_MENTION]
    names: dict[int, tuple[int, ...]] = {}
    for place in chosen(len(found), rate, random).tolist():
        start, end, entity = found[place].tolist()
        name = sequences.names.other(entity, random)
        if name is not None and name != tuple(before[start:end].tolist()):
            names[place] = name
    length, last = len(before), int(np.flatnonzero(before != tokenizer.pad)[-1])
    tokens, inside = np.full(length, tokenizer.pad, np.int64), np.zeros(length, np.bool_)
    left, right = (np.full(len(mentions), NO_BOUNDARY, np.int64) for _ in range(2))
    replaced = np.zeros(len(mentions), np.bool_)
    position = 0
    for piece, place in _pieces(before[:last], found, names):
        room = length - 1 - position  # for [SEP]
        end = position + min(len(piece), room)
        tokens[position:end] = piece[: end - position]
        if place is not None:
            inside[position:end] = True
            if len(piece) <= room:
                left[place], right[place], replaced[place] = position - 1, end, place in names
        position = end
    tokens[position] = before[last]
    return tokens, inside, left, right, replaced


def _pieces(
    tokens: Numbers, mentions: Numbers, names: dict[int, tuple[int, ...]]
) -> Iterator[tuple[Numbers, int | None]]:
    """Yield the text before each mention, then the mention with its number; at last the text after all of them."""
    position = 0
    for place, (start, end, _) in enumerate(mentions.tolist()):
        yield tokens[position:start], None
        yield np.array(names.get(place, tokens[start:end]), np.int64), place
        position = end
    yield tokens[position:], None
