"""Fine-tuning heads, one linear map each: of sentences and pairs (ELECTRA's release), choices, spans and tags."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout

Pooling = Literal["first", "mean", "last"]


class ClassificationHead(nn.Module):
    """One logit per label, from the [CLS] vector (`first`), the mean (`mean`) or the last vector before padding.

    ELECTRA and ConvBERT use `first`. A briefly pretrained model has not yet learned to summarise a sequence in
    [CLS], which `mean` does not need. One that reads left to right has read everything at the `last` [SEP] (GPT).
    """

    def __init__(self, width: int, labels: int, pooling: Pooling, dropout_rate: float) -> None:
        super().__init__()
        self.pooling, self.dropout_rate = pooling, dropout_rate
        self.labels = nn.Linear(width, labels)

    def forward(
        self, x: Float[Tensor, "batch seq width"], padding_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch labels"]:
        """Return the logits of every sequence."""
        logits: Tensor = self.labels(dropout(self._pooled(x, padding_mask), self.dropout_rate, self.training))
        return logits

    def _pooled(
        self, x: Float[Tensor, "batch seq width"], padding_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch width"]:
        if self.pooling == "first":
            return x[:, 0]
        if self.pooling == "last":
            ends = padding_mask.sum(1).clamp_min(1) - 1
            return x[torch.arange(len(x), device=x.device), ends]
        weights = padding_mask / padding_mask.sum(1, keepdim=True)
        return (x * weights[..., None]).sum(1)


class ChoiceHead(nn.Module):
    """One logit per sequence of context and ending; the `endings` consecutive sequences of an example are a row.

    Devlin et al. 2018, arXiv 1810.04805, section 4.4.
    """

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


class SpanHead(nn.Module):
    """Two logits per token.

    Devlin et al. 2018, arXiv 1810.04805, section 4.2.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.boundaries = nn.Linear(width, 2)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq 2"]:
        """Return a start and an end logit per token."""
        logits: Tensor = self.boundaries(x)
        return logits


NO_TAG = -100
"""Target of a token that is not the first subword of a word; it has no loss."""


class TagHead(nn.Module):
    """One logit per token and tag; only the first subword of each word is trained and read.

    Devlin et al. 2018, arXiv 1810.04805, section 5.3.
    """

    def __init__(self, width: int, tags: int, dropout_rate: float) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self.tags = nn.Linear(width, tags)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq tags"]:
        """Return the logits of every token."""
        logits: Tensor = self.tags(dropout(x, self.dropout_rate, self.training))
        return logits
