"""The geometry of a trained encoder's output: isotropy and rank of its vectors.

Ethayarajh 2019, arXiv 1909.00512, section 3: the mean cosine of vectors of random tokens. Roy and Vetterli 2007, The
effective rank: e to the entropy of the normalised singular values.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

PAIRS = 1000


def _vectors_of(encoder: nn.Module, tokens: Tensor) -> Tensor:
    """Return the outputs of all tokens [tokens width]."""
    return encoder(tokens).flatten(0, 1).double()


def effective_rank(encoder: nn.Module, tokens: Tensor) -> float:
    """Return the effective rank of the outputs, 1 to their width."""
    vectors = _vectors_of(encoder, tokens)
    shares = torch.linalg.svdvals(vectors - vectors.mean(0))
    shares = shares / shares.sum()
    return float(torch.exp(-(shares * shares.clamp_min(1e-12).log()).sum()))


def similarity(encoder: nn.Module, tokens: Tensor) -> dict[str, float]:
    """Return the mean and the largest cosine of the outputs of random pairs of tokens: `similarity.mean`, `.max`."""
    vectors = normalize(_vectors_of(encoder, tokens), dim=1)
    rows = torch.randint(len(vectors), (2, PAIRS), generator=torch.Generator().manual_seed(0))
    cosines = (vectors[rows[0]] * vectors[rows[1]]).sum(1)[rows[0] != rows[1]]
    return {"mean": float(cosines.mean()), "max": float(cosines.max())}
