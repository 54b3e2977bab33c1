"""The discriminator head of replaced token detection: original or replaced. Clark et al. 2020, ELECTRA's release."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu

from search_space.architecture import Architecture
from steeplechase.models.precision import to_float32


class DiscriminatorHead(nn.Module):
    """A linear map, GELU, and one logit per token."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.transform = nn.Linear(architecture.width, architecture.width)
        self.verdict = nn.Linear(architecture.width, 1)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq"]:
        """Return one logit per token; positive for replaced tokens."""
        logits: Tensor = self.verdict(gelu(self.transform(x)))
        return to_float32(logits.squeeze(-1))
