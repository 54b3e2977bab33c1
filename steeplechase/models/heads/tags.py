"""Fine-tuning head for tagging: one linear map per token. Devlin et al. 2018, arXiv 1810.04805, section 5.3."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

NO_TAG = -100
"""Target of a token that is not the first subword of a word; it has no loss."""


class TagHead(nn.Module):
    """One logit per token and tag; only the first subword of each word is trained and read."""

    def __init__(self, width: int, tags: int, dropout_rate: float) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self.tags = nn.Linear(width, tags)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq tags"]:
        """Return the logits of every token."""
        logits: Tensor = self.tags(dropout(x, self.dropout_rate, self.training))
        return logits
