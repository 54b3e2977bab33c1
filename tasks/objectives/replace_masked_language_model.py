"""Replace MLM: predict the tokens that a generator replaced. Clark et al. 2020 (ELECTRA), arXiv 2003.10555, 3.4."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from models.encoder import Encoder
from models.heads.masked_language_model import MaskedLanguageModelHead
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import ReplaceMaskedLanguageModel
from tasks.batches import Sequences
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch, mask
from tasks.objectives import replaced_token_detection
from tasks.objectives.generated_tokens import generate
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.objectives.pretraining_model import EvaluationSource
from tasks.tokenizer import Tokenizer


class Model(MaskedTokenModel[MaskedBatch]):
    """An encoder with a vocabulary head, and a generator that shares its token embeddings."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert generator is not None
        assert isinstance(candidate.objective, ReplaceMaskedLanguageModel)
        self.objective, recipe = candidate.objective, candidate.recipe
        self.generator = Encoder(generator, recipe.dropout, self.encoder.embeddings, recipe.activation_checkpointing)
        self.generator_head = MaskedLanguageModelHead(generator)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> MaskedBatch:
        """Return the sequences with masks, which the generator fills in."""
        return mask(sequences, self.objective, tokenizer, random)

    def predictions_of_terms(self, batch: MaskedBatch) -> tuple[int, int]:
        """Return the masked tokens, of both losses."""
        return batch.predictions, batch.predictions

    def loss_terms(
        self, batch: MaskedBatch, random: np.random.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the weighted losses of the generator and of the encoder, in nats."""
        generated = generate(self.generator, self.generator_head, self.token_table, batch, random)
        own, _ = masked_token_loss(self.encoder(generated.inputs), batch, self.head, self.token_table)
        return self.objective.generator_weight * generated.loss, self.objective.discriminator_weight * own

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return sequences that the reference generator corrupted, with the original tokens as targets."""
        assert isinstance(source.generator, MaskedTokenModel)
        masked = source.generator.evaluation_set(source)
        corrupted = replaced_token_detection.Model.evaluation_set(source)
        return EvaluationSet(corrupted.inputs, masked.positions, masked.targets)
