"""What is measured of a trained model beyond losses and scores: descriptions, none of them better or worse."""

from pydantic import Field

from foundation.schema import Count, Schema

ATTENTION = "attention"


class AttentionDiagonal(Schema):
    """Diagonal concentration C: attention mass at distance <= 4 over mass beyond. ConvBERT, 2008.02496, Table 8.

    The paper's text at hand does not say which text, how long, or how layers, heads and the marks around a text
    ([CLS], [SEP]) enter. Here: held-out text as it stands, at the baseline's sequence length, the same for every
    arm; the mass is summed over layers, heads and tokens, marks included. Reports also show the other readings.
    """

    within: Count = 4
    """The largest distance in tokens that counts as near."""
    sequences: Count = 256
    """Held-out sequences, evenly spread over the validation split."""


class Measures(Schema):
    """Measurements by name; one that is not named is not made."""

    attention_diagonal: AttentionDiagonal | None = Field(default=None, examples=[{"within": 4}])
    """Diagonal concentration of attention, as in ConvBERT's Table 8; null measures none."""
