"""The convolution branch beside self-attention: one file per option (ConvBERT, arXiv 2008.02496, Table 2)."""

from typing import Annotated

from foundation.schema import OPTION
from search_space.convolution.depthwise import Depthwise
from search_space.convolution.dynamic import Dynamic
from search_space.convolution.gated_dynamic import GatedDynamic
from search_space.convolution.lightweight import Lightweight
from search_space.convolution.none import NoConvolution
from search_space.convolution.span_dynamic import SpanDynamic

Convolution = Annotated[NoConvolution | Depthwise | Lightweight | Dynamic | GatedDynamic | SpanDynamic, OPTION]

OPTIONS = (NoConvolution, Depthwise, Lightweight, Dynamic, GatedDynamic, SpanDynamic)

__all__ = [
    "OPTIONS",
    "Convolution",
    "Depthwise",
    "Dynamic",
    "GatedDynamic",
    "Lightweight",
    "NoConvolution",
    "SpanDynamic",
]
