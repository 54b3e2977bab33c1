"""Trains embeddings of words from form and contexts on a frozen encoder, and measures them on words left out.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

from runners.stages.context import StageContext
from runners.stages.stage import MeasurementStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.rare_words import RareWords
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import Count, JsonValue, Seed

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from runners.training.mimicking import Word
    from steeplechase.tasks.rare_words.ngrams import NgramTable


class RareWordsStage(MeasurementStage):
    """Train embeddings of words from form and contexts, and measure them on words left out.

    Reads `pretrained` and `tokens`.
    """

    stage: ClassVar[str] = "rare_words"
    code_version: ClassVar[int] = 1
    architecture: Architecture
    settings: RareWords
    occurrences: Count
    text_tokens: Count
    most_words: Count
    held_out_share: float
    seed: Seed
    device: Literal["cpu", "cuda"] = "cpu"

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, name: str | None, seed: int) -> Self:
        """Return the measurement of a candidate with a named model of words."""
        measure = experiment.measure.rare_words
        assert measure is not None
        assert name is not None
        return cls(
            architecture=candidate.architecture,
            settings=measure.variants[name],
            occurrences=measure.occurrences,
            text_tokens=measure.text_tokens,
            most_words=measure.most_words,
            held_out_share=measure.held_out_share,
            seed=seed,
            device=candidate.recipe.device,
        )

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return how well the embeddings of unseen words are mimicked. Raises DataError where words are too few."""
        from runners.training.mimicking import (
            WordSource,
            embeddings_of,
            explained_variance,
            mimicking_model,
            train_to_mimic,
        )
        from runners.training.mimicking_inputs import MimickingInputs
        from steeplechase.tasks.rare_words.ngrams import NgramTable

        read = MimickingInputs.read(context.inputs, self.architecture, self.device, self.text_tokens)
        encoder = read.encoder
        split = _split(self, read.most_frequent(self.occurrences, self.most_words, "measure.rare_words"))
        ngrams = NgramTable.of([word.text for word in split.taught], self.settings)
        source = WordSource(read.tokens, read.tokenizer, ngrams, self.settings)
        model = mimicking_model(encoder, source, self.seed)
        context.progress(f"mimicking {len(split.taught)} words", 0.0)
        errors = train_to_mimic(model, split.taught, source, self.seed)
        held_out = _embeddable(split.held_out, ngrams)
        targets = encoder.embeddings.tokens.weight.detach()[[word.pieces[0] for word in held_out]]
        found = embeddings_of(model, held_out, source)
        return {
            "variant": self.settings.variant,
            "taught": len(split.taught),
            "held_out": len(held_out),
            "explained_variance": explained_variance(found, targets),
            "cosine": _centred_cosine(found, targets),
            "training_error": {**errors},
        }


class _Split(NamedTuple):
    taught: tuple[Word, ...]
    held_out: tuple[Word, ...]


def _split(stage: RareWordsStage, words: tuple[Word, ...]) -> _Split:
    """Return the words in two parts, the same for all variants of a seed. Raises DataError."""
    import numpy as np

    count = round(stage.held_out_share * len(words))
    if count < 2 or len(words) - count < 2:
        limit = f"measure.rare_words.occurrences {stage.occurrences}"
        raise DataError(f"{limit}: {len(words)} words of one token occur as often; too few to train and to measure")
    order = stream(stage.seed, "words left out").permutation(len(words))
    return _Split(*(tuple(words[row] for row in np.sort(rows)) for rows in (order[count:], order[:count])))


def _embeddable(words: tuple[Word, ...], ngrams: NgramTable) -> tuple[Word, ...]:
    """Return the words with an n-gram in the table; for `context` too, so that variants have the same words."""
    found = tuple(word for word in words if ngrams.known(word.text))
    if len(found) < 2:
        raise DataError(f"{len(found)} of {len(words)} words left out have a known n-gram; lower ngram_words")
    return found


def _centred_cosine(found: Float[Tensor, "words width"], targets: Float[Tensor, "words width"]) -> float:
    import torch

    mean = targets.mean(0)
    return float(torch.cosine_similarity(found - mean, targets - mean).mean())
