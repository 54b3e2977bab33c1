"""`measure.rare_words`: how well embeddings of words from form and contexts mimic an encoder's (BERTRAM)."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from search_space.rare_words import RareWords
from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.configuration.stage_result import Real, Result
from steeplechase.foundation.schema import Count, JsonValue, Name, Share, Whole

RARE_WORDS = "rare_words"


class WordMimicry(Measurement):
    """How well embeddings from the form and the contexts of words mimic those of frequent words that were left out.

    BERTRAM: Schick and Schütze 2020, arXiv 1910.07181. The frequent words of the pretraining text are split; a model
    of each variant is trained on one part and measured on the other, whose embeddings it has never seen.
    """

    variants: Mapping[Name, RareWords] = Field(min_length=1, examples=[{"add": {"variant": "add"}}])
    """The models by name; each is trained and measured on every trained encoder."""
    occurrences: Count = 100
    """Occurrences in the training text that make a word of one token frequent. Default: this project's."""
    text_tokens: Count = 20_000_000
    """Tokens of the training text, from its beginning, in which words and their contexts are looked for."""
    most_words: Count = 5000
    """Words at most, the most frequent ones."""
    held_out_share: Share = Field(default=0.1, gt=0, lt=1)
    """Words that are left out of training and measured, as a share."""
    key: ClassVar[str] = "rare_words"
    brief: ClassVar[str] = "Embeddings of rare words from form and contexts, as in BERTRAM; null to skip it."
    example: ClassVar[Mapping[str, JsonValue]] = {"variants": {"add": {"variant": "add"}}}
    stage: ClassVar[str] = RARE_WORDS
    in_a_search: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.variants)


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
