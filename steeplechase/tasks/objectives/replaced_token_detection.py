"""Replaced token detection: find the tokens that a generator replaced. Clark et al. 2020, arXiv 2003.10555."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.foundation.randomness import stream
from steeplechase.models.encoder import Encoder
from steeplechase.models.heads.logit import DiscriminatorHead
from steeplechase.models.kernels.vocabulary_cross_entropy import sample_tokens
from steeplechase.models.precision import autocast_to
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.generated_tokens import CorruptedInputs
from steeplechase.tasks.objectives.generator_model import GeneratorModel
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource
from steeplechase.tasks.progress import place


class Model(GeneratorModel):
    """ELECTRA: a discriminator on the encoder, and a generator that shares its embeddings.

    Fine-tuning uses the encoder alone.
    """

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        recipe = candidate.recipe
        self.encoder = Encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
        self.judge = DiscriminatorHead(candidate.architecture)
        self.add_generator(candidate, generator)

    def own_predictions(self, batch: MaskedBatch) -> int:
        """Return the number of all tokens."""
        return batch.inputs.size

    def own_loss(self, corrupted: CorruptedInputs, batch: MaskedTensors) -> Float[Tensor, ""]:
        """Return the discriminator's mean loss in nats."""
        return self.discriminator_loss(self.logits(corrupted), corrupted.replaced, batch)

    def logits(self, corrupted: CorruptedInputs) -> Float[Tensor, "batch seq"]:
        """Return one logit per token; positive for replaced tokens."""
        logits: Tensor = self.judge(self.encoder(corrupted.inputs))
        return logits

    def discriminator_loss(
        self, logits: Float[Tensor, "batch seq"], replaced: Float[Tensor, "batch seq"], batch: MaskedTensors
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over every token."""
        return binary_cross_entropy_with_logits(logits, replaced)

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the masked sequences with tokens that the reference generator samples at the masked positions.

        Every token is a prediction; its target is 1 where the sample differs from the original.
        """
        generator = source.generator
        assert isinstance(generator, MaskedTokenModel)
        masked = generator.evaluation_set(source)
        generator.eval()
        random = stream(source.seed, "held-out sampling")
        inputs, targets = masked.inputs.copy(), np.zeros_like(masked.inputs)
        for rows, part in masked.batches():
            phase = place("building the held-out set", "sequence", rows.start, len(inputs))
            source.progress(phase, rows.start / len(inputs))
            with torch.inference_mode(), autocast_to(source.reference.recipe.precision, generator.encoder.device):
                logits = generator.predict(generator.tensor(part.inputs), generator.tensor(part.positions))
            uniforms = torch.from_numpy(random.random(len(logits), dtype=np.float32)).to(logits.device)
            samples = sample_tokens(logits, uniforms).cpu().numpy().reshape(part.targets.shape)
            np.put_along_axis(inputs[rows], part.positions, samples, axis=1)
            np.put_along_axis(targets[rows], part.positions, (samples != part.targets).astype(np.int64), axis=1)
        all_positions = np.broadcast_to(np.arange(inputs.shape[1]), inputs.shape).copy()
        return EvaluationSet(inputs, all_positions, targets)

    def prediction_losses(self, part: EvaluationSet) -> Tensor:
        """Return the discriminator's cross-entropy in nats at every token."""
        logits = self.judge(self.encoder(self.tensor(part.inputs)))
        return binary_cross_entropy_with_logits(logits, self.tensor(part.targets).float(), reduction="none")

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the sum of each token's log-probability of being original, by the discriminator, in one pass.

        The discriminator and not the generator, because it is the encoder that arms differ in.
        """
        logits = self.judge(self.encoder(self.tensor(sentences)))[:, 1:-1]
        scores: np.ndarray = logsigmoid(-logits.float()).double().cpu().numpy().sum(1)
        return scores
