"""The head of entity replacement: is a mention the one of the text? Xiong et al. 2019 (WKLM), arXiv 1912.09637."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.architecture import Architecture


class EntityHead(nn.Module):
    """One logit per mention from the vectors of the tokens before and after it."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.true = nn.Linear(2 * architecture.width, 1)

    def forward(
        self, left: Float[Tensor, "mentions width"], right: Float[Tensor, "mentions width"]
    ) -> Float[Tensor, " mentions"]:
        """Return the logit of the probability that each mention is true."""
        logits: Tensor = self.true(torch.cat([left, right], dim=-1))
        return logits[:, 0]
