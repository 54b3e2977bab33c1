"""Paths in a model's schema: the keys of its mappings, the kinds of its unions, the locations that allow a key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, get_args, get_origin

from pydantic import BaseModel

from steeplechase.configuration.yaml.errors import Keys
from steeplechase.configuration.yaml.nodes import Node, child
from steeplechase.foundation.schema import VARIANT_KEY, cached_until_options_change, options_of


@dataclass(frozen=True)
class ResolvedLocation:
    """A pydantic location, resolved in a document."""

    node: Node
    """The deepest existing node."""
    expected: object
    """The type that the schema requires there; None if any."""
    owner: object
    """The type of the mapping that contains the node."""
    alternatives: object
    """The union of the owner's alternatives, or the owner."""
    missing_keys: Keys
    """The rest of the path, which does not exist in the document."""


def find(model: type[BaseModel], document: Node, location: Keys) -> ResolvedLocation:
    """Resolve a pydantic location, which has kinds and members of unions between the keys."""
    resolved = ResolvedLocation(document, model, model, model, ())
    union: object = model
    chosen = False
    for segment in location:
        again = len(_members(resolved.expected)) > 1 and segment in kinds(
            resolved.expected
        )  # a union of which a member is one
        narrowed = _narrowed(resolved.expected, segment) if again or not chosen else None
        if narrowed is not None:
            union, chosen = resolved.expected, True
            resolved = ResolvedLocation(
                resolved.node, narrowed, resolved.owner, resolved.alternatives, resolved.missing_keys
            )
            continue
        below = None if resolved.missing_keys else child(resolved.node, segment)
        if below is None:
            resolved = ResolvedLocation(
                resolved.node,
                resolved.expected,
                resolved.expected,
                union if chosen else resolved.expected,
                (*resolved.missing_keys, segment),
            )
        else:
            owner = resolved.expected
            resolved = ResolvedLocation(below, _type_inside(owner, segment), owner, union if chosen else owner, ())
        chosen = False
    return resolved


def keys(expected: object) -> tuple[str, ...]:
    """Return the keys that a mapping of this type may have."""
    models = [member for member in _members(expected) if (isinstance(member, type) and issubclass(member, BaseModel))]
    return tuple(dict.fromkeys(name for model in models for name in model.model_fields))


def kinds(expected: object) -> dict[str, type[BaseModel]]:
    """Return the models of a union by the values of their `kind`."""
    by_kind: dict[str, type[BaseModel]] = {}
    for member in _members(expected):
        if isinstance(member, type) and issubclass(member, BaseModel) and VARIANT_KEY in member.model_fields:
            for tag in get_args(member.model_fields[VARIANT_KEY].annotation):
                by_kind[str(tag)] = member
    return by_kind


def example(expected: object, key: str) -> object:
    """Return the first example of a model's field, None if it has none."""
    for member in _members(expected):
        if isinstance(member, type) and issubclass(member, BaseModel) and key in member.model_fields:
            return (member.model_fields[key].examples or [None])[0]
    return None


def allowed_locations(model: type[BaseModel], key: str) -> tuple[str, ...]:
    """Return the dotted paths of the schema's mappings that may have the key, the first path of each type."""
    return _locations_by_key(model).get(key, ())


@cached_until_options_change
def _locations_by_key(model: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    first: dict[str, dict[object, str]] = {}
    for member, path in _mappings(model, "", ()):
        for key in member.model_fields:
            first.setdefault(key, {}).setdefault(member, path)
    return {key: tuple(dict.fromkeys(paths.values())) for key, paths in first.items()}


def _mappings(expected: object, path: str, above: tuple[object, ...]) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield every mapping of a schema with its path, the outer one first; one inside itself once."""
    for member in _members(expected):
        if isinstance(member, type) and issubclass(member, BaseModel) and member not in above:
            yield member, path
            for name, field in member.model_fields.items():
                yield from _mappings(field.annotation, f"{path}.{name}".removeprefix("."), (*above, member))
        elif get_args(member):
            inside = f"{path}.*" if get_origin(member) is Mapping else path
            yield from _mappings(get_args(member)[-1], inside, above)  # the values of a dict or a list


def _members(expected: object) -> tuple[object, ...]:
    """Return the members of a union without None, or the type itself."""
    origin = get_origin(expected)
    if origin is Annotated:
        return _members(get_args(expected)[0])
    members = options_of(expected)
    if members != (expected,):
        return tuple(member for each in members for member in _members(each))
    return () if expected in (None, NoneType) else (expected,)


def _narrowed(expected: object, segment: str | int) -> object | None:
    """Return the member of a union that a segment names, None if the segment is a key or a list position."""
    tagged = kinds(expected)
    members = _members(expected)
    if segment in tagged and (len(members) > 1 or segment not in keys(expected)):
        return tagged[str(segment)]
    if len(members) < 2:
        return None
    named = [member for member in members if isinstance(member, type) and member.__name__ == segment]
    return named[0] if named else expected


def _type_inside(owner: object, segment: str | int) -> object:
    """Return the type of the value of a mapping or list type at a key or position."""
    for member in _members(owner):
        arguments = get_args(member)
        if isinstance(member, type) and issubclass(member, BaseModel):
            if segment in member.model_fields:
                return member.model_fields[str(segment)].annotation
        elif isinstance(segment, int) and arguments:
            homogeneous = len(arguments) == 1 or arguments[-1] is Ellipsis
            return arguments[0] if homogeneous else arguments[min(segment, len(arguments) - 1)]
        elif len(arguments) == 2 and issubclass(get_origin(member) or object, Mapping):
            return arguments[1]
    return None
