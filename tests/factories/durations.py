"""Upper bounds of waits on a machine that does other work too."""

import time
from collections.abc import Callable


def ends_within(seconds: float, attempt: Callable[[], object]) -> bool:
    """Whether one of three attempts takes less: a busy machine is slow once, what waits too long is every time."""
    return any(_seconds_of(attempt) < seconds for _ in range(3))


def _seconds_of(attempt: Callable[[], object]) -> float:
    started = time.monotonic()
    attempt()
    return time.monotonic() - started
