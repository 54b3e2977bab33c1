"""Numbers of a record that the scheduler reads."""

from steeplechase.ledger.records import Record, Status, final_loss_of, primary_score
from steeplechase.ledger.stage_results import ZeroCostResult, finite


def value_at_hurdle(record: Record, probed: bool) -> float | None:
    """Return the value that hurdles compare, smaller is better; None if the stage has none."""
    if record.status is not Status.FINISHED:
        return None
    if isinstance(record.result, ZeroCostResult):
        value = finite(record.result.proxy_value)
    else:
        value = primary_score(record) if probed else final_loss_of(record)
    sign = -1.0 if probed else 1.0  # larger scores are better
    return None if value is None else sign * value
