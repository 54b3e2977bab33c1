"""Trains embeddings of words from form and contexts on a frozen encoder, and measures them on words left out.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from runners.stages.context import StageContext
from runners.stages.stage import MeasurementStage, StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.rare_words import RareWords
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.rare_words import WordMimicry
from steeplechase.foundation.devices import Device
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import Count, JsonValue, Seed
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from runners.training.mimicking import Tokens, Word, WordSource
    from steeplechase.models.encoder import Encoder
    from steeplechase.models.rare_words import RareWordModel
    from steeplechase.tasks.rare_words.contexts import NgramTable


class TextRead(NamedTuple):
    """A frozen encoder, and the beginning of the training text as tokens, with its most frequent words."""

    encoder: Encoder
    tokenizer: Tokenizer
    tokens: Tokens
    frequent: tuple[Word, ...]


class MimickingStage(StageDeclaration):
    """A stage that trains embeddings of words from form and contexts to mimic those of a frozen encoder.

    Reads `pretrained` and `tokens`.
    """

    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    settings: RareWords
    occurrences: Count
    text_tokens: Count
    most_words: Count
    seed: Seed
    device: Device = "cpu"

    def read(self, context: StageContext, place: str) -> TextRead:
        """Return the inputs. Raises DataError for fewer than 4 frequent words, which names the setting at `place`."""
        from runners.training.mimicking import frequent_words
        from runners.training.pretrained import read_encoder
        from steeplechase.tasks.tokens import read_tokens

        encoder = read_encoder(context.inputs["pretrained"], self.architecture, self.device)
        tokenizer = load_tokenizer(context.inputs["tokens"])
        tokens = read_tokens(context.inputs["tokens"] / "train.npy")[: self.text_tokens]
        words = frequent_words(tokens, tokenizer, self.occurrences)
        if len(words) < 4:
            reason = f"{len(words)} words of one token occur as often; too few to train and to measure"
            raise DataError(f"{place}.occurrences {self.occurrences}: {reason}")
        chosen = sorted(words, key=lambda word: (-len(word.starts), word.text))[: self.most_words]
        return TextRead(encoder, tokenizer, tokens, tuple(chosen))

    def learned(
        self, read: TextRead, taught: tuple[Word, ...], context: StageContext
    ) -> tuple[RareWordModel, WordSource, dict[str, JsonValue]]:
        """Return a model that was trained on the words, what its batches are made of, and the errors of training."""
        from runners.training.mimicking import WordSource, mimicking_model, train_to_mimic
        from steeplechase.tasks.rare_words.contexts import NgramTable

        ngrams = NgramTable.of([word.text for word in taught], self.settings)
        source = WordSource(read.tokens, read.tokenizer, ngrams, self.settings)
        model = mimicking_model(read.encoder, source, self.seed)
        context.progress(f"mimicking {len(taught)} words", 0.0)
        return model, source, {**train_to_mimic(model, taught, source, self.seed)}


class RareWordsStage(MimickingStage, MeasurementStage):
    """Train embeddings of words from form and contexts, and measure them on words left out."""

    stage: ClassVar[str] = "rare_words"
    code_version: ClassVar[int] = 1
    held_out_share: float

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, name: str | None, seed: int) -> Self:
        """Return the measurement of a candidate with a named model of words."""
        measure = experiment.measure.settings(WordMimicry)
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
        from runners.training.mimicking import embeddings_of, explained_variance

        read = self.read(context, "measure.rare_words")
        split = _split(self, read.frequent)
        model, source, errors = self.learned(read, split.taught, context)
        held_out = _embeddable(split.held_out, source.ngrams)
        targets = read.encoder.embeddings.tokens.weight.detach()[[word.pieces[0] for word in held_out]]
        found = embeddings_of(model, held_out, source)
        return {
            "variant": self.settings.variant,
            "taught": len(split.taught),
            "held_out": len(held_out),
            "explained_variance": explained_variance(found, targets),
            "cosine": _centred_cosine(found, targets),
            "training_error": errors,
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
