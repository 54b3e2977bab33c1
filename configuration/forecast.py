"""`forecast:`, a budget that the held-out curves are extrapolated to."""

from pydantic import Field

from foundation.schema import Count, Schema


class Forecast(Schema):
    """A budget to which the report extrapolates the held-out curves.

    Arms that were stopped or still run are forecast at their own budget, `pretraining.tokens`, from the arms that
    have ended; a larger budget extrapolates every arm beyond it by a power law.
    """

    tokens: Count = Field(examples=[1_000_000_000])
    """The budget in tokens: `pretraining.tokens`, or a larger one that nothing was trained on."""
