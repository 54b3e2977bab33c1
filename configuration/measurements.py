"""`measure:`, descriptive measurements of a trained model beyond losses and scores."""

from pydantic import Field

from foundation.schema import Count, Schema

ATTENTION = "attention"


class AttentionDiagonal(Schema):
    """Diagonal concentration C: attention mass at distance <= 4 over mass beyond. ConvBERT, 2008.02496, Table 8.

    The paper does not state which text and length it uses, or how layers, heads and the special tokens [CLS] and
    [SEP] enter. Here: unmodified held-out text at the baseline's sequence length, the same for every arm; the mass is
    summed over layers, heads and tokens, special tokens included. Reports also show the other definitions.
    """

    within: Count = 4
    """The largest distance in tokens that counts as near."""
    sequences: Count = 256
    """Number of held-out sequences, evenly spaced over the validation split."""


class Measures(Schema):
    """Measurements by name; only those that are set are made."""

    attention_diagonal: AttentionDiagonal | None = Field(default=None, examples=[{"within": 4}])
    """Diagonal concentration of attention, as in ConvBERT's Table 8; null to skip it."""
