"""Pre-norm: a norm before every sublayer, none on the residual path. Xiong et al. 2020, arXiv 2002.04745."""

from typing import Literal

from search_space.normalisation.option import NormalisationOption


class PreNorm(NormalisationOption):
    """x becomes x + sublayer(norm(x)); the output of the last sublayer is normalised."""

    kind: Literal["pre_norm"] = "pre_norm"
    """Chooses norms before the sublayers."""
    final: bool = True
    """Whether the output of the last sublayer is normalised; without it, its variance grows with the depth."""

    @property
    def has_final_norm(self) -> bool:
        """Whether the output of the last sublayer is normalised."""
        return self.final
