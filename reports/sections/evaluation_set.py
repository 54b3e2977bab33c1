"""The held-out evaluation set: one and the same for every arm and seed, so that no interval contains its sampling."""

from collections.abc import Iterable, Iterator

from ledger.json_values import number
from ledger.records import Record, Status

TERM = "Held-out evaluation set"
STAGE = "evaluation_set"
MASKED = "masked_language_model"


def evaluation_set_notes(shared: Iterable[Record], objective: str, tasks: bool) -> Iterator[tuple[str, str]]:
    """Yield the line of the conditions; none before the set has been made."""
    made = [one for one in shared if one.stage == STAGE and one.status is Status.FINISHED]
    count = number(made[-1].result.get("questions")) if made else None
    if count is not None:
        tokens = "held-out masked tokens" if objective == MASKED else "held-out tokens"
        dev = " and, for each task, on the same dev examples" if tasks else ""
        text = f"all arms and seeds are evaluated on the same {int(count):,} {tokens}{dev}"
        yield TERM, f"{text}; the intervals contain the variation between seeds, not between questions"
