"""Progress reports of long-running work: phase and completed share."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with a phase and the completed share, from 0 to 1.

The phase may contain the position after a colon: "tokenizing train: text 512 of 8,600".
"""


def place(phase: str, unit: str, number: int, of: int) -> str:
    """Return a phase with its position: the number of the unit and the total."""
    return f"{phase}: {unit} {number:,} of {of:,}"


def silent(what: str, share: float) -> None:
    """Report nothing."""
