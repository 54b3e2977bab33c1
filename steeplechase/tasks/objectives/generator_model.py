"""Shared by the objectives whose inputs a generator corrupts. Clark et al. 2020 (ELECTRA), arXiv 2003.10555.

Tokens drawn by their frequency in a text: ELECTRA's unigram generator. Clark et al. 2020, arXiv 2003.10555.
"""

from abc import abstractmethod
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective.replaced_tokens import ReplacedTokens
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Numbers, Random, Unsigned
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.encoder import Embeddings, Encoder
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.tasks.masking import MaskedBatch, mask
from steeplechase.tasks.objectives.generated_tokens import CorruptedInputs, Generator, corrupted_inputs
from steeplechase.tasks.objectives.generator_training import GeneratorTraining
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, masked_tensors
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel, weighted
from steeplechase.tasks.tokenizer import Tokenizer


class GeneratorModel(PretrainingModel[MaskedBatch]):
    """An encoder that reads samples of a generator; without a network, tokens drawn by their frequency."""

    objective: ReplacedTokens
    generator: Encoder | None
    generator_head: MaskedLanguageModelHead | None
    generator_training: GeneratorTraining | None

    def add_generator(self, candidate: Candidate, generator: Architecture | None) -> None:
        """Build the generator, its head and its training; the encoder and its heads are there before."""
        assert isinstance(candidate.objective, ReplacedTokens)
        self.objective = candidate.objective
        if generator is None:
            self.generator = self.generator_head = self.generator_training = None
            return
        self.generator = self._generator_encoder(candidate, generator)
        self.generator_head = MaskedLanguageModelHead(generator)
        self.generator_training = module_of(self.objective.generator_training).Training(candidate, generator)

    def _generator_encoder(self, candidate: Candidate, generator: Architecture) -> Encoder:
        recipe, sharing = candidate.recipe, self.objective.generator_sharing
        if sharing == "all":
            return self.encoder
        embeddings = self.encoder.embeddings if sharing == "embeddings" else Embeddings(generator)
        if sharing == "token_embeddings":
            embeddings.tokens = self.encoder.embeddings.tokens
        return Encoder(generator, recipe.dropout, embeddings, recipe.activation_checkpointing)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> MaskedBatch:
        """Return the sequences with masks, which the generator fills in; without a network, with samples."""
        masked = mask(sequences, self.objective, tokenizer, random)
        if self.generator is not None:
            return masked
        return with_unigram_samples(masked, sequences.text, tokenizer, random)

    def start_update(self, number: int) -> None:
        """Begin the stage of the generator's training that the update belongs to."""
        if self.generator is not None and self.generator_training is not None:
            self.generator_training.start_update(number, self.encoder, self.generator)

    def predictions_of_terms(self, batch: MaskedBatch) -> tuple[int, int]:
        """Return the masked tokens, of the generator's loss, and those of the encoder's own loss."""
        return batch.predictions, self.own_predictions(batch)

    def device_batch(self, batch: MaskedBatch, random: np.random.Generator) -> MaskedTensors:
        """Return the batch on the device, with the uniform numbers at which the generator samples."""
        sampled = self.generator is not None
        uniforms = random.random(batch.targets.size, dtype=np.float32) if sampled else None
        return masked_tensors(batch, self.encoder.device, uniforms=uniforms)

    def terms(self, batch: MaskedTensors) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the weighted losses of the generator and of the encoder, in nats."""
        generator_loss, own_loss = self._losses(batch)
        weights = self.objective.generator_weight, self.objective.discriminator_weight
        return weighted(weights[0], generator_loss), weighted(weights[1], own_loss)

    def _losses(self, batch: MaskedTensors) -> tuple[Tensor, Tensor]:
        if self.generator is None or self.generator_head is None or self.generator_training is None:
            there = batch.inputs.gather(1, batch.positions)
            samples = there.masked_fill(batch.targets == NOT_PREDICTED, NOT_PREDICTED)
            own_loss = self.own_loss(corrupted_inputs(batch, samples), batch)
            return torch.zeros_like(own_loss), own_loss
        generator = Generator(self.generator, self.generator_head)
        return self.generator_training.losses(self, generator, batch)

    def own_predictions(self, batch: MaskedBatch) -> int:
        """Return how many predictions the encoder's own loss averages over: the masked tokens by default."""
        return batch.predictions

    @abstractmethod
    def own_loss(self, corrupted: CorruptedInputs, batch: MaskedTensors) -> Float[Tensor, ""]:
        """Return the encoder's mean loss in nats on the corrupted inputs."""


ROUNDS = 100
"""Draws of one sample; so many special tokens in a row mean a text of hardly anything else."""


def with_unigram_samples(
    batch: MaskedBatch, text: Unsigned, tokenizer: Tokenizer, random: np.random.Generator
) -> MaskedBatch:
    """Return the batch with a sample in place of every predicted token, whether [MASK] or its own token is there.

    Raises DataError if the text has hardly an ordinary token.
    """
    inputs = batch.inputs.copy()
    kept = np.take_along_axis(inputs, batch.masked_positions, axis=1)
    samples = unigram_samples(text, tokenizer, batch.targets.size, random).reshape(batch.targets.shape)
    np.put_along_axis(inputs, batch.masked_positions, np.where(batch.targets != NOT_PREDICTED, samples, kept), axis=1)
    return replace(batch, inputs=inputs)


def unigram_samples(text: Unsigned, tokenizer: Tokenizer, count: int, random: Random) -> Numbers:
    """Return tokens of the text at `count` random places, which has the frequencies of the text; no special tokens.

    Raises DataError if the text has hardly an ordinary token.
    """
    special = (tokenizer.pad, tokenizer.classify, tokenizer.separate, tokenizer.mask)
    samples = np.full(count, tokenizer.pad, dtype=np.int64)
    for _ in range(ROUNDS if len(text) else 0):
        missing = np.flatnonzero(np.isin(samples, special))
        if not len(missing):
            return samples
        samples[missing] = text[random.integers(0, len(text), len(missing))]
    raise DataError(f"the text of {len(text)} tokens has hardly a token that is not special; none can be sampled")
