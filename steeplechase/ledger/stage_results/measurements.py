"""Results of measurements: where a trained encoder attends, and what one pass takes."""

from collections.abc import Mapping, Sequence
from math import exp, inf, isfinite, log, nan
from statistics import fmean, median
from typing import Annotated, ClassVar

from pydantic import Field, FiniteFloat

from steeplechase.foundation.schema import Count, Name, Whole
from steeplechase.ledger.stage_results.result import Real, Result

ALL, TEXT, PER_HEAD = "all mass", "without [CLS] and [SEP]", "mean over heads"
READINGS = (ALL, TEXT, PER_HEAD)
"""Definitions of C, since its paper does not state its own. Claims use the first."""

Cells = tuple[tuple[Real, ...], ...]


class AttentionResult(Result):
    """Where the heads of a trained encoder attend, and their diagonal concentration C by each definition.

    C is attention mass at distance <= `within` over mass beyond. ConvBERT, arXiv 2008.02496, Table 8.
    """

    finished: ClassVar[tuple[str, ...]] = ("attention",)
    sequences: Whole
    length: Whole
    within: Whole
    """The largest distance in tokens that counts as near."""
    heads: tuple[tuple[Real, Real, Real, Real, Real, Real], ...]
    """Layer, head, and as shares of a token's attention: near, far, and both without [CLS] and [SEP]."""
    maps: tuple[Cells, ...]
    """By layer, in hundredths of even attention; `finite_maps` are for readers."""

    @property
    def is_finite(self) -> bool:
        """Whether there is a head, and every mass is a number."""
        return bool(self.heads) and _finite(self.heads)

    @property
    def finite_maps(self) -> tuple[Cells, ...]:
        """The maps; one with an entry that is not finite has no cells."""
        return tuple(cells if _finite(cells) else () for cells in self.maps)

    @property
    def depth(self) -> int:
        """The number of layers."""
        return int(max(head[0] for head in self.heads)) + 1

    def concentration(self, reading: str, layer: int | None = None) -> float | None:
        """Return C over all layers or of one, None if there is no mass beyond."""
        heads = [mass for of_layer, _, *mass in self.heads if layer in (None, of_layer)]
        if reading == PER_HEAD:
            ratios = [_ratio(near, far) for near, far, _, _ in heads]
            known = [ratio for ratio in ratios if ratio is not None]
            return fmean(known) if known and len(known) == len(ratios) else None
        pairs = [mass[2:] if reading == TEXT else mass[:2] for mass in heads]
        return _ratio(sum(near for near, _ in pairs), sum(far for _, far in pairs))


def uniform_concentration(length: int, within: int) -> float | None:
    """Return C of uniform attention; it falls with the length, so that C is comparable at equal lengths only."""
    reach = min(within, length - 1)
    near = length + sum(2 * (length - distance) for distance in range(1, reach + 1))
    return _ratio(near, length**2 - near)


def _finite(rows: Sequence[Sequence[Real]]) -> bool:
    return all(isfinite(entry) for row in rows for entry in row)


def _ratio(near: float, far: float) -> float | None:
    return near / far if far > 0 else None


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


class OwnMeasurementResult(Result):
    """The numbers that a function of a user's own gives for a trained encoder."""

    finished: ClassVar[tuple[str, ...]] = ("own_measurement",)
    name: Name
    """The function's name in the experiment."""
    values: Mapping[str, Real]

    @property
    def outcome(self) -> str:
        """The numbers."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())


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

    @property
    def outcome(self) -> str:
        """The median of every arm in milliseconds."""
        return ", ".join(f"{arm} {1e3 * median(self.seconds[arm]):.3g} ms" for arm in self.arms)
