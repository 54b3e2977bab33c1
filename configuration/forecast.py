"""`forecast:`, a larger budget that the held-out curves are extrapolated to."""

from pydantic import Field

from foundation.schema import Count, Schema


class Forecast(Schema):
    """A budget that nothing was trained on, to which the report draws the held-out curves on."""

    tokens: Count = Field(examples=[1_000_000_000])
    """The larger budget, in tokens, for which the held-out loss is extrapolated."""
