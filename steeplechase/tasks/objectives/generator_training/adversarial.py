"""Adversarial training of the generator by policy gradients. Clark et al. 2020 (ELECTRA), arXiv 2003.10555.

REINFORCE with a learned baseline (Williams 1992): a sample's reward is the discriminator's loss at it. The baseline
is a prediction of that reward from the generator's vector, trained by cross-entropy on the discriminator's
probability of the right answer, of which the reward is the negative logarithm.
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.models.heads.logit import LogitHead
from steeplechase.tasks.objectives.generated_tokens import Generator, SampledTokens
from steeplechase.tasks.objectives.generator_training import CorruptingModel, Discriminator, GeneratorTraining
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors


class Training(GeneratorTraining):
    """The generator maximises the discriminator's loss; the discriminator is trained as in joint training."""

    def __init__(self, candidate: Candidate, generator: Architecture) -> None:
        super().__init__(candidate, generator)
        self.value = LogitHead(generator.width, "value")  # of the discriminator's probability of the right answer

    def losses(
        self, model: CorruptingModel, generator: Generator, batch: MaskedTensors
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the policy gradient's loss with that of its baseline, and the discriminator's."""
        assert isinstance(model, Discriminator)
        sampled = generator.sample(batch)
        logits = model.logits(sampled)
        loss = model.discriminator_loss(logits, sampled.replaced, batch)
        return self.generator_loss(sampled, rewards_of(logits.detach(), sampled, batch.positions)), loss

    def generator_loss(self, sampled: SampledTokens, rewards: Float[Tensor, " predicted"]) -> Float[Tensor, ""]:
        """Return the mean over the samples, whose gradient is the policy gradient; 0 without any."""
        if not len(rewards):
            return sampled.vectors.sum() * 0.0
        values = self.value(sampled.vectors)
        advantages = rewards + logsigmoid(values.detach())
        policy = -(advantages * sampled.log_probabilities).mean()
        return policy + binary_cross_entropy_with_logits(values, (-rewards).exp())


def rewards_of(
    logits: Float[Tensor, "batch seq"], sampled: SampledTokens, positions: Int[Tensor, "batch predictions"]
) -> Float[Tensor, " predicted"]:
    """Return the discriminator's cross-entropy in nats at every sample."""
    losses = binary_cross_entropy_with_logits(logits, sampled.replaced, reduction="none")
    return losses.gather(1, positions).flatten()[sampled.rows]
