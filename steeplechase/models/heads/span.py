"""Fine-tuning head for extractive question answering: start and end logits. Devlin et al. 2018, section 4.2."""

from jaxtyping import Float
from torch import Tensor, nn


class SpanHead(nn.Module):
    """Two logits per token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.boundaries = nn.Linear(width, 2)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq 2"]:
        """Return a start and an end logit per token."""
        logits: Tensor = self.boundaries(x)
        return logits
