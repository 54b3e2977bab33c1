"""Where layer norms stand relative to the residuals: the options."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from search_space.normalisation.option import NormalisationOption
from steeplechase.foundation.schema import OPTION, JsonValue

Normalisation = Annotated[NormalisationOption, OPTION]


class PostNorm(NormalisationOption):
    """x becomes norm(x + sublayer(x)). Without warm-up it may fail to train (Xiong et al. 2020, arXiv 2002.04745).

    Vaswani et al. 2017, arXiv 1706.03762; BERT.
    """

    kind: Literal["post_norm"] = "post_norm"
    """Chooses norms after the residual sums."""

    @property
    def has_final_norm(self) -> bool:
        """Whether the last sublayer's output is normalised once more: never, its own norm does it."""
        return False


class PreNorm(NormalisationOption):
    """x becomes x + sublayer(norm(x)); the output of the last sublayer is normalised.

    Xiong et al. 2020, arXiv 2002.04745.
    """

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
