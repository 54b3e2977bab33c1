"""Post-norm: a norm after every residual sum. Vaswani et al. 2017, arXiv 1706.03762; BERT."""

from typing import Literal

from search_space.normalisation.option import NormalisationOption


class PostNorm(NormalisationOption):
    """x becomes norm(x + sublayer(x)). Without warm-up it may fail to train (Xiong et al. 2020, arXiv 2002.04745)."""

    kind: Literal["post_norm"] = "post_norm"
    """Chooses norms after the residual sums."""

    @property
    def has_final_norm(self) -> bool:
        """Whether the last sublayer's output is normalised once more: never, its own norm does it."""
        return False
