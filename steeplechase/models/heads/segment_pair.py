"""The head of objectives on pairs of segments: a pooler and an output layer. Devlin et al. 2018, BERT's release."""

from jaxtyping import Float
from torch import Tensor, nn, tanh

from search_space.architecture import Architecture


class SegmentPairHead(nn.Module):
    """A linear map and tanh of the first token's vector, then one logit per class."""

    def __init__(self, architecture: Architecture, classes: int) -> None:
        super().__init__()
        self.pooler = nn.Linear(architecture.width, architecture.width)
        self.classes = nn.Linear(architecture.width, classes)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch classes"]:
        """Return the logits of every pair."""
        logits: Tensor = self.classes(tanh(self.pooler(x[:, 0])))
        return logits
