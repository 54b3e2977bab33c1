"""Progress: how long-running work tells a person what is being done and how much of it is done."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, from 0 to 1.

What is being done is a phase and, behind a colon, where in it: "tokenizing train: text 512 of 8,600".
"""


def place(phase: str, unit: str, number: int, of: int) -> str:
    """Return where in a phase the work is: the number of the unit out of how many."""
    return f"{phase}: {unit} {number:,} of {of:,}"


def silent(what: str, share: float) -> None:
    """Show nothing."""
