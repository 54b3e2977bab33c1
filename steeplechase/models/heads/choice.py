"""Fine-tuning head for multiple choice: one logit per ending. Devlin et al. 2018, arXiv 1810.04805, section 4.4."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from steeplechase.models.heads.classification import ClassificationHead, Pooling


class ChoiceHead(nn.Module):
    """One logit per sequence of context and ending; the `endings` consecutive sequences of an example are a row."""

    def __init__(self, width: int, endings: int, pooling: Pooling, dropout_rate: float) -> None:
        super().__init__()
        self.endings = endings
        self.score = ClassificationHead(width, 1, pooling, dropout_rate)

    def forward(
        self, x: Float[Tensor, "sequences seq width"], padding_mask: Bool[Tensor, "sequences seq"]
    ) -> Float[Tensor, "batch endings"]:
        """Return the logits of the endings of every example, over which the softmax is taken."""
        scores: Tensor = self.score(x, padding_mask)
        return scores.view(-1, self.endings)
