"""A hurdle's decision on one trial, with the values that it was made from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HurdleDecision:
    """Whether the trial clears the hurdle, its value, the threshold, and the trials that set the threshold."""

    cleared: bool
    value: float | None
    threshold: float | None
    cohort: tuple[str, ...] = ()
