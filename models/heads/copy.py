"""The copy mechanism of All-Tokens MLM: a mixture of the input token and a softmax. Clark et al. 2020, ELECTRA."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from models.precision import to_float32


class CopyHead(nn.Module):
    """One logit per vector: of the probability D of the input token; the softmax has 1 - D."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.copy = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, " predicted"]:
        """Return the logits of D."""
        logits: Tensor = self.copy(x)
        return to_float32(logits.squeeze(-1))


def mixed(
    copy_logits: Float[Tensor, "*predicted"],
    log_probabilities: Float[Tensor, "*predicted"],
    is_input: Bool[Tensor, "*predicted"],
) -> Float[Tensor, "*predicted"]:
    """Return the log-probabilities of tokens in the mixture: log(D [token = input] + (1 - D) p)."""
    generated = logsigmoid(-copy_logits) + log_probabilities
    return torch.where(is_input, torch.logaddexp(logsigmoid(copy_logits), generated), generated)
