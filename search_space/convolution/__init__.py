"""The convolution branch beside self-attention: one file per option (ConvBERT, arXiv 2008.02496, Table 2).

An option is found by its file; the names below are for code that builds an option by name.
"""

from typing import Annotated

from search_space.convolution.depthwise import Depthwise
from search_space.convolution.dynamic import Dynamic
from search_space.convolution.gated_dynamic import GatedDynamic
from search_space.convolution.lightweight import Lightweight
from search_space.convolution.none import NoConvolution
from search_space.convolution.option import ConvolutionOption
from search_space.convolution.span_dynamic import SpanDynamic
from steeplechase.foundation.schema import OPTION

Convolution = Annotated[ConvolutionOption, OPTION]

__all__ = [
    "Convolution",
    "ConvolutionOption",
    "Depthwise",
    "Dynamic",
    "GatedDynamic",
    "Lightweight",
    "NoConvolution",
    "SpanDynamic",
]
