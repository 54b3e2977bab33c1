"""Fine-tuning head for sentences and pairs: pooling, dropout, one linear map (ELECTRA's release)."""

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
