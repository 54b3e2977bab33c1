"""A candidate as values by dotted path, which is how a figure finds the axes that arms differ on."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from foundation.schema import JsonValue, canonical, canonical_text
from ledger.records import ArmRow
from search_space.candidate import Candidate

Fields = Mapping[str, JsonValue]


def fields_of(arm: ArmRow) -> Fields:
    """Return every value of an arm's candidate by its dotted path, defaults included."""
    return _values(arm.candidate)


def _values(candidate: Candidate) -> Fields:
    return dict(_flat(candidate.model_dump(mode="json"), ""))


def _flat(document: Mapping[str, JsonValue], above: str) -> Iterator[tuple[str, JsonValue]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def usual_value(arm: ArmRow, path: str) -> float | None:
    """Return what the declaration has at a path when nothing is said there, all else as in the arm."""
    document: dict[str, JsonValue] = canonical(arm.candidate)
    *above, name = path.split(".")
    holder: JsonValue = document
    for part in above:
        holder = holder.get(part) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder.pop(name, None)
    try:
        value = _values(Candidate.model_validate_json(canonical_text(document))).get(path)
    except ValidationError:  # a field that every declaration must fill
        return None
    return float(value) if isinstance(value, int | float) else None
