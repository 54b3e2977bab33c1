"""Results of measurements: where a trained encoder attends, and what one pass takes."""

from collections.abc import Mapping
from math import exp, inf, log, nan
from typing import Annotated, ClassVar

from pydantic import Field, FiniteFloat

from steeplechase.foundation.schema import Count, Name, Whole
from steeplechase.ledger.stage_results.result import Real, Result


class AttentionResult(Result):
    """Where the heads of a trained encoder attend."""

    finished: ClassVar[tuple[str, ...]] = ("attention",)
    sequences: Whole
    length: Whole
    within: Whole
    """The largest distance in tokens that counts as near."""
    heads: tuple[tuple[Real, Real, Real, Real, Real, Real], ...]
    """Layer, head, and as shares of a token's attention: near, far, and both without [CLS] and [SEP]."""
    maps: tuple[tuple[tuple[Real, ...], ...], ...]
    """By layer, in hundredths of even attention."""


class RareWordsResult(Result):
    """How well embeddings of words from form and contexts mimic an encoder's, on words left out of training."""

    finished: ClassVar[tuple[str, ...]] = ("rare_words",)
    variant: str
    """What gives the embeddings, as the experiment names it in `settings`."""
    taught: Whole
    """Words of training."""
    held_out: Whole
    """Words that are measured."""
    explained_variance: Real
    """R² of the embeddings: 1 is exact, 0 no better than the mean embedding of the words."""
    cosine: Real
    """Mean cosine of the embeddings and their targets, both less the mean target."""
    training_error: Mapping[str, Real]
    """Mean squared error of the last epoch by stage of training."""


class WordEmbeddingsResult(Result):
    """Embeddings of the rare words of a task, from form and contexts."""

    finished: ClassVar[tuple[str, ...]] = ("word_embeddings",)
    variant: str
    """What gives the embeddings, as the experiment names it in `settings`."""
    taught: Whole
    """Words of training."""
    words: Whole
    """Rare words of the task's examples."""
    without_ngram: Whole
    """Rare words without a known n-gram; they have the mean of the embeddings of their pieces."""
    training_error: Mapping[str, Real]
    """Mean squared error of the last epoch by stage of training."""


class PerplexityResult(Result):
    """The losses of a language model on a text, and what the text counts."""

    finished: ClassVar[tuple[str, ...]] = ("perplexity",)
    text: Name
    layout: str
    nats: Real
    """Sum of the losses of the predicted tokens."""
    tokens: Whole
    """Predicted tokens: all but [CLS] and [SEP]."""
    words: Whole
    characters: Whole
    unknown: Whole
    """Tokens that stand for a part of the text outside the vocabulary."""
    length: Count
    """Tokens of a window."""
    new_tokens: Count | None = None
    """Tokens that a window predicts; None: all."""

    @property
    def measures(self) -> dict[str, float]:
        """The loss in the units of the literature, by name: of a token, of a word, and in bits of a character."""
        return {
            "perplexity_per_token": _perplexity(self.nats, self.tokens),
            "perplexity_per_word": _perplexity(self.nats, self.words),
            "bits_per_character": self.nats / log(2) / self.characters if self.characters else nan,
        }


def _perplexity(nats: float, units: int) -> float:
    """Return e to the mean loss; infinite beyond the largest number, NaN without a unit."""
    if not units:
        return nan
    try:
        return exp(nats / units)
    except OverflowError:
        return inf


class Machine(Result):
    """What seconds depend on besides the declaration; seconds of two machines are never compared."""

    processor: str
    system: str
    instructions: str
    """The widest vector instructions that torch uses here."""
    device: str
    threads: Count
    clock: str
    python: str
    torch: str
    operators: str
    """What computes the windows of the convolutions: compiled operators, or torch."""
    code: str
    """sha256 of the source of `models`: what was timed."""


class LatencyResult(Result):
    """One sequence length, timed whole: for every arm the seconds of one pass in each round, in the rounds' order."""

    finished: ClassVar[tuple[str, ...]] = ("latency",)
    length: Count
    arms: tuple[Name, ...]
    """In the experiment's order, the baseline first: text in a ledger keeps no order of keys."""
    seconds: Mapping[Name, tuple[Annotated[FiniteFloat, Field(gt=0)], ...]]
    machine: Machine
