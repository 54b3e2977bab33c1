"""Muon: orthogonalised momentum for the matrices of blocks, AdamW for the rest. Jordan et al. 2024.

https://kellerjordan.github.io/posts/muon/; weight decay and size of updates: Liu et al. 2025, arXiv 2502.16982.
"""

from typing import Annotated, Literal

from pydantic import Field

from search_space.optimiser.option import OptimiserOption


class Muon(OptimiserOption):
    """The momentum of a matrix with its singular values near 1, as large as an update of AdamW.

    Embeddings, grouped maps, vectors and everything outside the blocks have AdamW, at the same learning rate.
    """

    kind: Literal["muon"] = "muon"
    """Chooses Muon; `recipe.adam_beta1`, `adam_beta2` and `adam_epsilon` are those of AdamW for the rest."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.95
    """Share of the momentum that is kept, with Nesterov's correction. Default: Jordan et al.'s."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return f"Muon with momentum {self.momentum:g}, AdamW outside the matrices of blocks"
