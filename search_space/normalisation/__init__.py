"""Where layer norms stand relative to the residuals: one file per option."""

from typing import Annotated

from search_space.normalisation.option import NormalisationOption
from search_space.normalisation.post_norm import PostNorm
from search_space.normalisation.pre_norm import PreNorm
from steeplechase.foundation.schema import OPTION

Normalisation = Annotated[NormalisationOption, OPTION]

__all__ = ["Normalisation", "NormalisationOption", "PostNorm", "PreNorm"]
