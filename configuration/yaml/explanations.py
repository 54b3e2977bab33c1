"""From a validation error to mistakes: each at the node it is about, in words that name keys and kinds."""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from configuration.yaml.errors import SHOWN_CHARACTERS, Mistake, Path, Place, mistake, shown
from configuration.yaml.messages import NEEDED, mismatch, not_among, worded
from configuration.yaml.nodes import Entries, Leaf, Node, child
from configuration.yaml.renamed import renamed_key
from configuration.yaml.schema_paths import Spot, example, find, homes, keys, kinds
from foundation.errors import Violation, did_you_mean
from foundation.schema import VARIANT_KEY

HOMES_AT_MOST = 3


def mistakes_of_types(
    file: str, model: type[BaseModel], document: Node, error: ValidationError
) -> tuple[Mistake, ...]:
    """Return the mistakes behind pydantic's errors; what follows from a mistake already told is left out."""
    spots: dict[Place, list[tuple[Spot, ErrorDetails]]] = defaultdict(list)
    for detail in error.errors(include_url=False):
        spot = find(model, document, detail["loc"])
        if not _follows(spot, detail["type"]):
            spots[_place(spot, detail["type"])].append((spot, _as_written(spot, detail)))
    found = []
    for place, details in spots.items():
        deeper = any(other.path[: len(place.path)] == place.path != other.path for other in spots)
        messages = _joined(details, deeper) if len(details) > 1 or deeper else [_message(model, *details[0])]
        found += [mistake(file, place, message) for message in messages]
    return tuple(found)


def mistakes_of_rules(file: str, document: Node, violations: Iterable[Violation]) -> tuple[Mistake, ...]:
    """Return the mistakes behind a declaration's own violations, each at its node or the nearest one above."""
    return tuple(mistake(file, _nearest(document, each.path), each.message) for each in violations)


def _nearest(document: Node, path: Path) -> Place:
    node = document
    for position, key in enumerate(path):
        below = child(node, key)
        if below is None:
            return node.place.under(*path[position:])
        node = below
    return node.place


def _as_written(spot: Spot, detail: ErrorDetails) -> ErrorDetails:
    """Return the error about the value that the file holds, not about what a validator has made of it."""
    if spot.rest or not isinstance(spot.node, Leaf):
        return detail
    return {**detail, "input": spot.node.value}


def _follows(spot: Spot, kind: str) -> bool:
    """Whether the error only repeats a mistake in the text: a value or a key that could not be read."""
    if isinstance(spot.node, Leaf):
        return spot.node.flawed
    return isinstance(spot.node, Entries) and spot.node.flawed and kind in ("missing", "union_tag_not_found")


def _place(spot: Spot, kind: str) -> Place:
    if kind == "union_tag_invalid":
        tag = child(spot.node, VARIANT_KEY)
        return tag.place if tag is not None else spot.node.place
    if kind == "union_tag_not_found":
        return spot.node.place.under(VARIANT_KEY)
    return spot.node.place.under(*(key for key in spot.rest if kind == "missing"))


def _joined(details: list[tuple[Spot, ErrorDetails]], deeper: bool) -> list[str]:
    """Return one message for a union none of whose members fits; a member that nearly fits speaks alone."""
    other = [worded(detail) for _, detail in details if detail["type"] not in (*NEEDED, "literal_error")]
    if deeper or other:
        return list(dict.fromkeys(other))
    needed = [NEEDED.get(detail["type"]) or str(detail.get("ctx", {}).get("expected")) for _, detail in details]
    return [mismatch(details[0][1]["input"], " or ".join(dict.fromkeys(needed)))]


def _message(model: type[BaseModel], spot: Spot, detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "missing":
        return _missing(spot)
    if kind == "extra_forbidden":
        return _unknown_key(model, spot, str(detail["loc"][-1]))
    if kind == "union_tag_not_found":
        return f"this key is missing; allowed: {', '.join(kinds(spot.wanted))}"
    if kind == "union_tag_invalid":
        known = kinds(spot.wanted)
        tag = spot.node if isinstance(spot.node, Leaf) else child(spot.node, VARIANT_KEY)
        expected = ", ".join(map(repr, known)) or str(detail.get("ctx", {}).get("expected_tags"))
        return not_among(tag.value if isinstance(tag, Leaf) else "this", expected)
    if kind == "model_attributes_type" and kinds(spot.wanted):
        return mismatch(detail["input"], f"the name of an option ({', '.join(kinds(spot.wanted))}) or a mapping")
    return worded(detail)


def _missing(spot: Spot) -> str:
    key = spot.rest[-1]
    if isinstance(key, int):
        return f"item {key + 1} of the list is missing"
    given = example(spot.wanted, key)
    hint = f"; for example {key}: {json.dumps(given, ensure_ascii=False)}" if given is not None else ""
    return f"this key is missing{hint}"


def _unknown_key(model: type[BaseModel], spot: Spot, key: str) -> str:
    known = keys(spot.owner)
    told = shown(key) if key.isascii() else ascii(key[:SHOWN_CHARACTERS])
    if today := renamed_key(key, known):
        return f"{told} is now called {today}; rename it"
    hint = did_you_mean(unicodedata.normalize("NFKC", key), known)
    others = [kind for kind, option in kinds(spot.alternatives).items() if key in option.model_fields]
    if others:
        hint += f" It belongs to the kind {', '.join(others)}."
    elif key != VARIANT_KEY:
        places = homes(model, key)[:HOMES_AT_MOST]
        hint += f" It belongs under {', '.join(place or 'the top level' for place in places)}." if places else ""
    return f"{told} is not a key here.{hint}" if hint else f"{told} is not a key here; allowed: {', '.join(known)}"
