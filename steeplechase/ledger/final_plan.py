"""Facts of the comparison at the end of a search: its finalists with their seeds, and the winner."""

from collections.abc import Mapping

from steeplechase.foundation.recorded import Recorded
from steeplechase.foundation.schema import JsonValue

FINALISTS, WINNER = "finalists", "winner"
"""Names of the facts; the winner's is a list of one name, or of none without a finished finalist."""


class FinalPlan(Recorded):
    """The finalists of a search and how they are compared."""

    finalists: Mapping[str, Mapping[str, JsonValue]]
    """By name, in the order of their ranks, the changes from the baseline."""
    seeds: tuple[int, ...]
    """Pretraining seeds of the comparison."""
    labels: tuple[str, ...]
    """The stages of a trial of the comparison."""
    declared: bool
    """Whether the experiment declares finalists; otherwise no candidate had finished, and the best is trained on."""
    ranked_by: tuple[str, ...] = ()
    """The objectives that they were the best by; empty of older ledgers, whose score was the mean over all tasks."""

    @classmethod
    def of(cls, fact: JsonValue) -> "FinalPlan | None":
        """Return the parsed fact; None without it."""
        return None if fact is None else cls.of_record(fact)


def winner_of(fact: JsonValue) -> str | None:
    """Return the winner's name; None before it is known, or if no finalist has finished."""
    return str(fact[0]) if isinstance(fact, list) and fact else None
