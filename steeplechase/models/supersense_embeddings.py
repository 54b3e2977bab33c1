"""Supersense embeddings: those of the senses that a token's word may have. Levine et al. 2019, arXiv 1908.05646."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class SupersenseEmbeddings(nn.Module):
    """One vector per supersense; a token has the sum of those that its word may have: S M x of the paper.

    `allowed` is stored in checkpoints, so that a fine-tuned encoder needs no lexicon.
    """

    allowed: Bool[Tensor, "vocab senses"]
    """The supersenses of the vocabulary's tokens; none until `allow` sets them."""

    def __init__(self, supersenses: int, tokens: nn.Embedding) -> None:
        super().__init__()
        self.senses = nn.Embedding(supersenses, tokens.embedding_dim)
        self.register_buffer("allowed", torch.zeros(tokens.num_embeddings, supersenses, dtype=torch.bool))

    @property
    def table(self) -> Float[Tensor, "senses embedding"]:
        """S: the supersense embeddings, shared with the output layer of supersenses."""
        return self.senses.weight

    def allow(self, allowed: Bool[Tensor, "known senses"]) -> None:
        """Set the supersenses of the vocabulary's tokens; the table may have more rows than the vocabulary."""
        self.allowed.zero_()
        self.allowed[: len(allowed)] = allowed

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq embedding"]:
        """Return the sum of the embeddings of every token's supersenses."""
        summed: Tensor = self.allowed[tokens].to(self.table.dtype) @ self.table
        return summed
