"""The copy mechanism of All-Tokens MLM: a mixture of the input token and a softmax. Clark et al. 2020, ELECTRA."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import logsigmoid


def mixed(
    copy_logits: Float[Tensor, "*predicted"],
    log_probabilities: Float[Tensor, "*predicted"],
    is_input: Bool[Tensor, "*predicted"],
) -> Float[Tensor, "*predicted"]:
    """Return the log-probabilities of tokens in the mixture: log(D [token = input] + (1 - D) p)."""
    generated = logsigmoid(-copy_logits) + log_probabilities
    return torch.where(is_input, torch.logaddexp(logsigmoid(copy_logits), generated), generated)
