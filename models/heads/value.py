"""The value head of adversarial generator training: a prediction of the reward. Clark et al. 2020, ELECTRA."""

from jaxtyping import Float
from torch import Tensor, nn

from models.precision import to_float32


class ValueHead(nn.Module):
    """One logit per vector: of the discriminator's probability of the right answer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.value = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, " predicted"]:
        """Return the logits."""
        logits: Tensor = self.value(x)
        return to_float32(logits.squeeze(-1))
