"""Progress: how long-running work tells a person what is being done and how much of it is done."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, from 0 to 1."""


def silent(what: str, share: float) -> None:
    """Show nothing."""
