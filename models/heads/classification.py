"""Fine-tuning head for sentences and pairs: the raw [CLS] vector, dropout, one map (ELECTRA's release)."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from search_space.architecture import Architecture


class ClassificationHead(nn.Module):
    """One logit per label."""

    def __init__(self, architecture: Architecture, labels: int, dropout_rate: float) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self.labels = nn.Linear(architecture.width, labels)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch labels"]:
        """Return the logits of every sequence."""
        logits: Tensor = self.labels(dropout(x[:, 0], self.dropout_rate, self.training))
        return logits
