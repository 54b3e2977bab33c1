"""A hurdle's decision on one trial, with the values that it is based on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HurdleDecision:
    """Whether the trial clears the hurdle, its value, the threshold, and the trials that the threshold is from."""

    cleared: bool
    value: float | None
    threshold: float | None
    reference_trials: tuple[str, ...] = ()
