"""The outline of a model: which keys its mappings may hold, which kinds its unions have, where a key belongs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel

from configuration.yaml.errors import Path
from configuration.yaml.nodes import Node, child
from foundation.schema import VARIANT_KEY


@dataclass(frozen=True)
class Spot:
    """Where a pydantic location leads in a document."""

    node: Node
    """The deepest node on the way."""
    wanted: object
    """The type that the schema asks for there; None where it leaves that open."""
    owner: object
    """The type of the mapping that holds the node."""
    alternatives: object
    """The union that the owner was chosen from by its kind, or the owner."""
    rest: Path
    """The keys that the document does not hold."""


def find(model: type[BaseModel], document: Node, location: Path) -> Spot:
    """Follow a pydantic location, which names kinds and members of unions between the keys."""
    spot = Spot(document, model, model, model, ())
    union: object = model
    chosen = False
    for segment in location:
        again = len(_members(spot.wanted)) > 1 and segment in kinds(spot.wanted)  # a union of which a member is one
        narrowed = _narrowed(spot.wanted, segment) if again or not chosen else None
        if narrowed is not None:
            union, chosen = spot.wanted, True
            spot = Spot(spot.node, narrowed, spot.owner, spot.alternatives, spot.rest)
            continue
        below = None if spot.rest else child(spot.node, segment)
        if below is None:
            spot = Spot(spot.node, spot.wanted, spot.wanted, union if chosen else spot.wanted, (*spot.rest, segment))
        else:
            owner = spot.wanted
            spot = Spot(below, _inside(owner, segment), owner, union if chosen else owner, ())
        chosen = False
    return spot


def keys(wanted: object) -> tuple[str, ...]:
    """Return the keys that a mapping of this type may hold."""
    models = [member for member in _members(wanted) if _is_model(member)]
    return tuple(dict.fromkeys(name for model in models for name in model.model_fields))  # type: ignore[attr-defined]


def kinds(wanted: object) -> dict[str, type[BaseModel]]:
    """Return the models of a union by the values of their `kind`."""
    found: dict[str, type[BaseModel]] = {}
    for member in _members(wanted):
        if isinstance(member, type) and issubclass(member, BaseModel) and VARIANT_KEY in member.model_fields:
            for tag in get_args(member.model_fields[VARIANT_KEY].annotation):
                found[str(tag)] = member
    return found


def example(wanted: object, key: str) -> object:
    """Return the first example that a model gives for its field, or None."""
    for member in _members(wanted):
        if isinstance(member, type) and issubclass(member, BaseModel) and key in member.model_fields:
            return (member.model_fields[key].examples or [None])[0]
    return None


def homes(model: type[BaseModel], key: str) -> tuple[str, ...]:
    """Return the dotted paths of the mappings of the schema that may hold the key, the first place of each kind."""
    first: dict[object, str] = {}
    for member, path in _homes(model, key, "", ()):
        first.setdefault(member, path)
    return tuple(dict.fromkeys(first.values()))


def _homes(wanted: object, key: str, path: str, above: tuple[object, ...]) -> Iterator[tuple[object, str]]:
    for member in _members(wanted):
        if isinstance(member, type) and issubclass(member, BaseModel) and member not in above:
            if key in member.model_fields:
                yield member, path
            for name, field in member.model_fields.items():
                yield from _homes(field.annotation, key, f"{path}.{name}".removeprefix("."), (*above, member))
        elif get_args(member):
            inside = f"{path}.*" if get_origin(member) is Mapping else path
            yield from _homes(get_args(member)[-1], key, inside, above)  # what a dict or a list holds


def _members(wanted: object) -> tuple[object, ...]:
    """Return the members of a union without None, or the type itself."""
    origin = get_origin(wanted)
    if origin is Annotated:
        return _members(get_args(wanted)[0])
    if origin in (Union, UnionType):
        return tuple(member for argument in get_args(wanted) for member in _members(argument))
    return () if wanted in (None, NoneType) else (wanted,)


def _is_model(member: object) -> bool:
    return isinstance(member, type) and issubclass(member, BaseModel)


def _narrowed(wanted: object, segment: str | int) -> object | None:
    """Return the member of a union that a segment names, or None where the segment is a key or a position."""
    tagged = kinds(wanted)
    members = _members(wanted)
    if segment in tagged and (len(members) > 1 or segment not in keys(wanted)):
        return tagged[str(segment)]
    if len(members) < 2:
        return None
    named = [member for member in members if isinstance(member, type) and member.__name__ == segment]
    return named[0] if named else wanted


def _inside(owner: object, segment: str | int) -> object:
    """Return the type of what a mapping or a list of this type holds under a key or a position."""
    for member in _members(owner):
        arguments = get_args(member)
        if isinstance(member, type) and issubclass(member, BaseModel):
            if segment in member.model_fields:
                return member.model_fields[str(segment)].annotation
        elif isinstance(segment, int) and arguments:
            whole = len(arguments) == 1 or arguments[-1] is Ellipsis
            return arguments[0] if whole else arguments[min(segment, len(arguments) - 1)]
        elif len(arguments) == 2 and issubclass(get_origin(member) or object, Mapping):
            return arguments[1]
    return None
