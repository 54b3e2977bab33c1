"""The output layer of replaced token detection: was this token in the text? Clark et al. 2020, ELECTRA's release."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu

from models.precision import to_float32
from search_space.architecture import Architecture


class DiscriminatorHead(nn.Module):
    """A map of the width, GELU, and one number per token."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.transform = nn.Linear(architecture.width, architecture.width)
        self.verdict = nn.Linear(architecture.width, 1)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq"]:
        """Return one logit per token; above zero means that the token was replaced."""
        logits: Tensor = self.verdict(gelu(self.transform(x)))
        return to_float32(logits.squeeze(-1))
