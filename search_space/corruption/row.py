"""A corrupted text: what the encoder reads, and what the decoder reads and predicts at each step."""

from dataclasses import dataclass

from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.numpy_on_use import Numbers, Random, np


@dataclass(frozen=True)
class Context:
    """What a corruption may read beside the text."""

    tokenizer: SpecialTokens
    random: Random


@dataclass(frozen=True)
class Corrupted:
    """The arrays of one text; inputs, places and targets have one entry for each step of the decoder."""

    source: Numbers
    """What the encoder reads, without [CLS] and [SEP]."""
    inputs: Numbers
    """The token that the decoder reads at each step."""
    places: Numbers
    """Its position in the target's table of positions."""
    targets: Numbers
    """The token that it predicts, or NOT_PREDICTED where it only reads."""


def whole_target(source: Numbers, tokens: Numbers, tokenizer: SpecialTokens) -> Corrupted:
    """Return a source with the whole text as its target: the decoder reads [CLS] and the text, and predicts it."""
    return Corrupted(
        source,
        np.concatenate(([tokenizer.classify], tokens)),
        np.arange(len(tokens) + 1),
        np.concatenate((tokens, [tokenizer.separate])),
    )


def masked_at(tokens: Numbers, places: Numbers, tokenizer: SpecialTokens) -> Numbers:
    """Return the text with [MASK] at some places."""
    source = tokens.copy()
    source[places] = tokenizer.mask
    return source


def chosen(count: int, tokens: int, random: Random) -> Numbers:
    """Return the places of `count` tokens, drawn without replacement, rising."""
    places: Numbers = np.sort(random.choice(tokens, count, replace=False))
    return places
