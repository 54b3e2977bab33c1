"""Dynamic convolution: each token generates its kernel. Wu et al. 2019, arXiv 1901.10430, section 3.2.

The gated linear unit (GLU) that Wu et al. and ConvBERT's text put before the kernel is left out, so that this option
and the span-based one differ in the source of the kernel alone; `gated_dynamic` has it. This option therefore differs
from the option in ConvBERT's Table 2: `systems/convbert.toml` states the departure, and so does every report with
such an arm.
"""

from typing import Literal

from search_space.convolution.kernel import KernelFromValue


class Dynamic(KernelFromValue):
    """A kernel per head and position, generated from the current token alone."""

    kind: Literal["dynamic"] = "dynamic"
    """Chooses dynamic convolution."""
