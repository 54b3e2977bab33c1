"""Reading a record's curve, beside its numbers (`ledger/json_values.py`)."""

from collections.abc import Mapping

from foundation.schema import JsonValue
from ledger.json_values import number


def curve(result: Mapping[str, JsonValue]) -> dict[int, float]:
    """Return the held-out loss in nats by tokens seen."""
    points = result.get("held_out_curve")
    found: dict[int, float] = {}
    for point in points if isinstance(points, list) else []:
        if isinstance(point, list) and len(point) == 2:
            tokens, loss = number(point[0]), number(point[1])
            if tokens is not None and loss is not None:
                found[int(tokens)] = loss
    return found
