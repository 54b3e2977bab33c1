"""The few numbers of a record that decide what runs next."""

from ledger.records import Record, Status
from runners.scoring import primary_score


def value_at_hurdle(record: Record, probed: bool) -> float | None:
    """Return what a hurdle looks at, such that smaller is better; None where there is no number."""
    if record.status is not Status.FINISHED:
        return None
    sign = -1.0 if probed else 1.0  # of a score the larger is the better
    found = primary_score(record) if probed else record.result.get("held_out_loss")
    return sign * float(found) if isinstance(found, int | float) else None


def loss_curve(record: Record) -> dict[int, float]:
    """Return the held-out losses of a pretraining stage by tokens seen."""
    points = record.result.get("held_out_curve")
    found = {}
    for point in points if isinstance(points, list) else ():
        if isinstance(point, list) and len(point) == 2:
            tokens, value = point
            if isinstance(tokens, int | float) and isinstance(value, int | float):
                found[int(tokens)] = float(value)
    return found


def tokens_of(label: str) -> int:
    """Return the tokens after which a pretraining stage or its probe ends."""
    return int(label.partition("@")[2])
