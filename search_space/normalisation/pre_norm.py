"""Pre-norm: a norm before every sublayer, none on the residual path. Xiong et al. 2020, arXiv 2002.04745."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from search_space.normalisation.option import NormalisationOption
from steeplechase.foundation.schema import JsonValue


class PreNorm(NormalisationOption):
    """x becomes x + sublayer(norm(x)); the output of the last sublayer is normalised."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"norm": "rms_norm", "first": False})
    kind: Literal["pre_norm"] = "pre_norm"
    """Chooses norms before the sublayers."""
    final: bool = True
    """Whether the output of the last sublayer is normalised; without it, its variance grows with the depth."""

    first: bool = True
    """Whether the input of the first sublayer is normalised; ModernBERT leaves that to the norm of the embeddings."""

    @property
    def has_first_norm(self) -> bool:
        """Whether the input of the first sublayer is normalised."""
        return self.first

    @property
    def has_final_norm(self) -> bool:
        """Whether the output of the last sublayer is normalised."""
        return self.final
