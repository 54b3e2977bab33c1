"""What every option of corruption has: what its source hides and what its target is, as rows of numbers."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.schema import OpenOption


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


class CorruptionOption(OpenOption):
    """An option that makes a source and a target of a text."""

    package: ClassVar[str] = "search_space.corruption"
    is_random: ClassVar[bool] = True
    """Whether the same text gives other sources or targets with another random stream."""

    @property
    def evaluation(self) -> str:
        """The name of its held-out loss; of settings that make another loss, each has another name."""
        return self.kind

    @abstractmethod
    def predictions(self, tokens: int) -> int:
        """Return the number of predicted tokens of a text of `tokens` tokens, the end of the target included."""

    @abstractmethod
    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the source and the target of a text without special tokens [tokens].

        It is a function of the text and the random stream alone.
        """


class WholeTarget(CorruptionOption):
    """The target is the whole text with its end, whatever the source hides."""

    def predictions(self, tokens: int) -> int:
        """Return all tokens and the end."""
        return tokens + 1


class WithRate(WholeTarget):
    """A share of the tokens is corrupted, drawn without replacement."""

    rate: float = Field(default=0.3, ge=0, le=1)
    """Share of the tokens. Default: BART's of text infilling (fairseq, examples/bart)."""
