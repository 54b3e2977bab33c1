"""Heads of pretraining with few outputs: logits of vectors, tokens and mentions, the class of a pair of segments."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn, tanh
from torch.nn.functional import gelu, logsigmoid

from search_space.architecture import Architecture
from steeplechase.models.precision import to_float32


class LogitHead(nn.Module):
    """A linear map to one logit; `name` is that of the map's parameters in checkpoints."""

    def __init__(self, width: int, name: str) -> None:
        super().__init__()
        self.name = name
        self.add_module(name, nn.Linear(width, 1))

    def forward(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, " predicted"]:
        """Return one logit for each position, in float32."""
        logits: Tensor = self.get_submodule(self.name)(x)
        return to_float32(logits.squeeze(-1))


def mixed(
    copy_logits: Float[Tensor, "*predicted"],
    log_probabilities: Float[Tensor, "*predicted"],
    is_input: Bool[Tensor, "*predicted"],
) -> Float[Tensor, "*predicted"]:
    """Return the log-probabilities of tokens in the mixture: log(D [token = input] + (1 - D) p)."""
    generated = logsigmoid(-copy_logits) + log_probabilities
    return torch.where(is_input, torch.logaddexp(logsigmoid(copy_logits), generated), generated)


class DiscriminatorHead(nn.Module):
    """A linear map, GELU, and one logit per token.

    Clark et al. 2020, ELECTRA's release.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.transform = nn.Linear(architecture.width, architecture.width)
        self.verdict = nn.Linear(architecture.width, 1)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq"]:
        """Return one logit per token; positive for replaced tokens."""
        logits: Tensor = self.verdict(gelu(self.transform(x)))
        return to_float32(logits.squeeze(-1))


class EntityHead(nn.Module):
    """One logit per mention from the vectors of the tokens before and after it.

    Xiong et al. 2019 (WKLM), arXiv 1912.09637.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.true = nn.Linear(2 * architecture.width, 1)

    def forward(
        self, left: Float[Tensor, "mentions width"], right: Float[Tensor, "mentions width"]
    ) -> Float[Tensor, " mentions"]:
        """Return the logit of the probability that each mention is true."""
        logits: Tensor = self.true(torch.cat([left, right], dim=-1))
        return logits[:, 0]


class SegmentPairHead(nn.Module):
    """A linear map and tanh of the first token's vector, then one logit per class.

    Devlin et al. 2018, BERT's release.
    """

    def __init__(self, architecture: Architecture, classes: int) -> None:
        super().__init__()
        self.pooler = nn.Linear(architecture.width, architecture.width)
        self.classes = nn.Linear(architecture.width, classes)

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch classes"]:
        """Return the logits of every pair."""
        logits: Tensor = self.classes(tanh(self.pooler(x[:, 0])))
        return logits
