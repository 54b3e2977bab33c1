"""ELECTRA 15%: replaced token detection at the masked tokens alone. Clark et al. 2020, arXiv 2003.10555."""

import numpy as np
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import replaced_token_detection
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource


class Model(replaced_token_detection.Model):
    """ELECTRA, whose discriminator learns from the masked tokens alone."""

    def own_predictions(self, batch: MaskedBatch) -> int:
        """Return the number of masked tokens."""
        return batch.predictions

    def discriminator_loss(
        self, logits: Float[Tensor, "batch seq"], replaced: Float[Tensor, "batch seq"], batch: MaskedTensors
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the masked tokens; 0 without any."""
        numbers = batch.predicted
        if not len(numbers):
            return logits.sum() * 0.0
        chosen = numbers // batch.positions.shape[1], batch.positions.flatten()[numbers]
        return binary_cross_entropy_with_logits(logits[chosen], replaced[chosen])

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the evaluation set of replaced token detection, with the masked tokens alone as its predictions."""
        assert isinstance(source.generator, MaskedTokenModel)
        positions = source.generator.evaluation_set(source).positions
        whole = super().evaluation_set(source)
        return EvaluationSet(whole.inputs, positions, np.take_along_axis(whole.targets, positions, axis=1))

    def prediction_losses(self, part: EvaluationSet) -> Tensor:
        """Return the discriminator's cross-entropy in nats at every masked token."""
        logits = self.judge(self.encoder(self.tensor(part.inputs))).gather(1, self.tensor(part.positions))
        return binary_cross_entropy_with_logits(logits, self.tensor(part.targets).float(), reduction="none")
