"""`measure.perplexity`: the losses of trained language models on texts, in the units of the literature."""

from collections.abc import Callable, Iterator, Mapping
from math import exp, inf, log, nan
from typing import Annotated, ClassVar

from pydantic import Field

from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.configuration.stage_result import Real, Result
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, JsonValue, Name, Whole
from steeplechase.tasks.language_model_texts import LanguageModelText

PERPLEXITY = "perplexity"
SPECIAL_TOKENS = 2  # [CLS] and [SEP] of a window


class MeasuredText(LanguageModelText):
    """A text, and the memory with which it is read."""

    memory: Annotated[int, Field(ge=0, le=2**20)] | None = Field(default=None, examples=[640])
    """Tokens of memory of arms that have one, in place of those of training (Transformer-XL); None: as trained."""

    @property
    def text(self) -> LanguageModelText:
        """The text alone."""
        return LanguageModelText(path=self.path, layout=self.layout)


class Perplexity(Measurement):
    """Perplexity per token and per word, and bits per character, of texts that no model has been trained on.

    Perplexities per token of two tokenizers are not comparable; those per word and bits per character are, as long as
    few tokens are unknown.
    """

    texts: Mapping[Name, MeasuredText] = Field(
        min_length=1, examples=[{"notes": {"path": "notes.txt", "layout": "plain"}}]
    )
    """The texts by name."""
    new_tokens: Count | None = Field(default=None, examples=[64])
    """Tokens that each window of the sequence length predicts, the rest of it being context. None: all of them."""
    key: ClassVar[str] = "perplexity"
    brief: ClassVar[str] = (
        "Perplexity and bits per character of texts, of arms that pretrain as language models; null to skip it."
    )
    example: ClassVar[Mapping[str, JsonValue]] = {"texts": {"notes": {"path": "notes.txt"}}}
    stage: ClassVar[str] = PERPLEXITY

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the texts."""
        return tuple(self.texts)

    @property
    def sources(self) -> tuple[Callable[[], object], ...]:
        """The texts."""
        return tuple(text.inputs for text in self.texts.values())

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms without a probability of the text, and more new tokens than a window has."""
        inside = length - SPECIAL_TOKENS
        if self.new_tokens is not None and self.new_tokens > inside:
            message = f"{self.new_tokens} is more than the {inside} tokens of a window without [CLS] and [SEP]"
            yield Violation(("new_tokens",), message)
        others = [name for name, candidate in arms.items() if not isinstance(candidate.objective, LanguageModel)]
        if others:
            reason = "no language model, so that a text has no probability; allowed: language_model"
            yield Violation((), f"{', '.join(others)}: {reason}")


class PerplexityResult(Result):
    """The losses of a language model on a text, and what the text counts."""

    finished: ClassVar[tuple[str, ...]] = (PERPLEXITY,)
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


class DivergedOnText(Result):
    """A language model whose losses on a text are not all finite."""

    diverged: ClassVar[tuple[str, ...]] = (PERPLEXITY,)
    task: str | None = None
    """The text's name."""
    error: str | None = None

    @property
    def outcome(self) -> str:
        """That it diverged."""
        return "diverged"


def _perplexity(nats: float, units: int) -> float:
    """Return e to the mean loss; infinite beyond the largest number, NaN without a unit."""
    if not units:
        return nan
    try:
        return exp(nats / units)
    except OverflowError:
        return inf
