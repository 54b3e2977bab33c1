"""The few numbers of a record that decide what runs next."""

from configuration.stage_label import StageLabel
from ledger.records import Record, Status, final_loss_of
from runners.scoring import primary_score


def value_at_hurdle(record: Record, probed: bool) -> float | None:
    """Return what a hurdle compares, such that smaller is better; None where there is no number."""
    if record.status is not Status.FINISHED:
        return None
    found = primary_score(record) if probed else final_loss_of(record)
    sign = -1.0 if probed else 1.0  # of a score the larger is the better
    return None if found is None else sign * found


def tokens_of(label: str) -> int:
    """Return the tokens after which a pretraining stage or its probe ends."""
    tokens = StageLabel.parse(label).tokens
    assert tokens is not None
    return tokens
