"""TaskSet curves in the format of the DyHPO repository: `[{hp: {…}, train|valid|test: {loss: […]}}, …]`, maybe in xz.

Metz et al. 2020, arXiv 2002.11887; Wistuba et al. 2022, DyHPO. The curves are validation losses. Points are 1/51 of a
training apart, and the first is the loss before training.
"""

from collections.abc import Sequence

import numpy as np

from runners.replay.curves.recorded import Mistakes, RecordedCurves, Unreadable, from_table
from steeplechase.foundation.schema import JsonValue

OVERFLOW = 1e10  # TaskSet writes at least this for overflowed losses


def recognises(document: JsonValue) -> bool:
    """Return whether a JSON document looks like a TaskSet file."""
    return isinstance(document, list) and bool(document) and isinstance(document[0], dict) and "hp" in document[0]


def read(name: str, document: Sequence[JsonValue]) -> RecordedCurves:
    """Return the validation curves. Raises Unreadable with the entry, the rule and the value."""
    configs: list[dict[str, JsonValue]] = []
    curves: list[list[JsonValue]] = []
    mistakes = Mistakes()
    for number, entry in enumerate(document):
        with mistakes.of_one():
            config, losses = _entry(entry, number)
            if curves and len(losses) != len(curves[0]):
                message = f"valid.loss has {len(losses)} points, the first entry has {len(curves[0])}"
                raise Unreadable(f"entry {number}: {message}")
            configs.append(config)
            curves.append(losses)
    mistakes.refuse()
    values = np.array(curves, dtype=np.float64)  # None becomes NaN
    values[~(np.abs(values) < OVERFLOW)] = np.inf
    return from_table(name, [str(number) for number in range(len(configs))], configs, range(len(curves[0])), values)


def _entry(entry: JsonValue, number: int) -> tuple[dict[str, JsonValue], list[JsonValue]]:
    parts = entry if isinstance(entry, dict) else {}
    config, valid = parts.get("hp"), parts.get("valid")
    losses = valid.get("loss") if isinstance(valid, dict) else None
    if not isinstance(config, dict):
        raise Unreadable(f"entry {number}: hp is {_kind(config)}; a mapping of hyper-parameters is needed")
    if not isinstance(losses, list) or not losses:
        raise Unreadable(f"entry {number}: valid.loss is {_kind(losses)}; a list of numbers is needed")
    wrong = next(
        (each for each in losses if isinstance(each, bool) or not isinstance(each, int | float | None)), None
    )
    if wrong is not None:
        raise Unreadable(f"entry {number}: valid.loss holds {wrong!r}; numbers are needed")
    return config, losses


def _kind(value: JsonValue) -> str:
    return "missing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"
