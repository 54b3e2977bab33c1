"""LAMB: AdamW with a trust ratio for each matrix. You et al. 2020, arXiv 1904.00962, algorithm 2."""

from typing import ClassVar, Literal

from foundation.schema import Schema


class Lamb(Schema):
    """Every matrix's update has a norm proportional to the matrix's own, for large batches (ALBERT)."""

    adaptive: ClassVar[bool] = True
    kind: Literal["lamb"] = "lamb"
    """Chooses LAMB; normalisations and biases have neither weight decay nor a trust ratio, as in its release."""
