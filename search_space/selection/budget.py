"""The number of selected tokens of a sequence."""

from foundation.schema import Schema


class WithBudget(Schema):
    """An option that selects at most a number of tokens, which depends on the rate and the length alone."""

    def budget(self, rate: float, length: int) -> int:
        """Return the maximum number of tokens selected in a sequence of `length`: 19 of 128 at 15%, as ELECTRA's."""
        return int((rate + 0.005) * length)
