"""What a hurdle says of one trial, with everything it looked at."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HurdleDecision:
    """Whether the trial clears the hurdle, the value it brought, the bar it met and whose values set the bar."""

    cleared: bool
    value: float | None
    threshold: float | None
    cohort: tuple[str, ...] = ()
