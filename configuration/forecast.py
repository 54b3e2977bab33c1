"""`forecast:`, a larger budget to which the held-out curves are extrapolated."""

from pydantic import Field

from foundation.schema import Count, Schema


class Forecast(Schema):
    """A larger budget than any that was trained, to which the report extrapolates the held-out curves."""

    tokens: Count = Field(examples=[1_000_000_000])
    """The larger budget, in tokens."""
