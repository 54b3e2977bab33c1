"""Overrides: dotted paths into a candidate with new values; applied to make an arm, and derived from two candidates.

A path is a field of the architecture (`bottleneck_ratio`, `convolution.kernel_size`), starts with `architecture.`,
`objective.`, `recipe.` or `fine_tuning.`, or is `init_checkpoint` or `data`. A name or a mapping with a `kind`
replaces a whole option; a path into an option sets one of its fields.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from search_space.candidate import Candidate
from search_space.layer_lists import BY_LAYER, contradictory_depths, list_in
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import Violation, closest, did_you_mean
from steeplechase.foundation.schema import VARIANT_KEY, JsonValue, Schema, options_of
from steeplechase.foundation.stand_ins import CodeNeeded

ROOTS = ("objective", "recipe", "fine_tuning")
INIT_CHECKPOINT, DATA = "init_checkpoint", "data"
"""The fields of a candidate that are no parts with fields of their own."""
Changes = Mapping[str, Any]


class InvalidOverride(Exception):
    """The overrides lead to an invalid candidate; the paths of `violations` are relative to the overrides."""

    def __init__(self, violations: Iterable[Violation], only_in_combination: bool = False) -> None:
        self.violations = tuple(violations)
        self.only_in_combination = only_in_combination
        """Whether each value is valid alone and only their combination is invalid."""
        super().__init__("; ".join(violation.message for violation in self.violations))


def absolute_path(path: str) -> tuple[str, ...]:
    """Return the path from the candidate; a path without a root is a field of the architecture."""
    parts = tuple(path.split("."))
    return parts if parts[0] in ("architecture", INIT_CHECKPOINT, DATA, *ROOTS) else ("architecture", *parts)


def apply(candidate: Candidate, changes: Changes) -> Candidate:
    """Return the candidate with the overrides. Raises InvalidOverride with all violations.

    The rules of a recorded candidate whose plugin is not loaded are not known; its run has checked them.
    """
    changed = applied(candidate, changes)
    try:
        broken = [Violation((_blame(each.path, changes),), each.message) for each in changed.violations()]
    except CodeNeeded:
        return changed
    if broken:
        raise InvalidOverride(broken, only_in_combination=True)
    return changed


def applied(candidate: Candidate, changes: Changes) -> Candidate:
    """Return the candidate with the overrides, its rules unchecked. Raises InvalidOverride for a wrong type."""
    document: dict[str, Any] = candidate.model_dump()
    named: dict[tuple[str, ...], str] = {}
    for path in changes:
        if (other := named.setdefault(absolute_path(path), path)) != path:
            short, long = sorted((path, other), key=len)
            message = f"{long} is the field {short}, which is set too; leave one of them out"
            raise InvalidOverride([Violation((long,), message)])
    for path in sorted(changes, key=lambda path: len(absolute_path(path))):  # an option before its own fields
        _assign(document, path, changes[path])
    for depth, contradiction in contradictory_depths(document["architecture"]):
        if ("architecture", depth) in named:  # else it is that of the program before
            raise InvalidOverride([Violation((_blame(("architecture", depth), changes),), contradiction)])
    try:
        return Candidate.model_validate(document)
    except ValidationError as error:
        raise InvalidOverride(_explain(error, changes, candidate, document)) from None


def difference(baseline: Candidate, candidate: Candidate) -> dict[str, JsonValue]:
    """Return the overrides that turn the baseline into the candidate, by dotted path, in the order of the fields."""
    changes: dict[str, JsonValue] = {}
    for part in ("architecture", *ROOTS):
        before, after = getattr(baseline, part), getattr(candidate, part)
        if type(before) is not type(after):
            changes[part] = canonical(after)
            continue
        prefix = "" if part == "architecture" else f"{part}."
        for name in type(after).model_fields:
            old, new = getattr(before, name), getattr(after, name)
            if isinstance(old, Mapping) and isinstance(new, Mapping) and old.keys() <= new.keys():
                changes |= {
                    f"{prefix}{name}.{key}": new[key] for key in new if key not in old or old[key] != new[key]
                }
            elif old != new:
                changes[prefix + name] = _written(new)
    for name in (INIT_CHECKPOINT, DATA):
        if getattr(baseline, name) != getattr(candidate, name):
            changes[name] = getattr(candidate, name)
    return changes


def with_lists(baseline: Candidate, candidate: Candidate, changes: Changes) -> Changes:
    """Return the changes with values by layer as lists, where these alone turn the baseline's program into the other.

    A program that changes otherwise too has the values in its text.
    """
    before, after = baseline.architecture, candidate.architecture
    if "layers" not in changes or type(before) is not type(after):
        return changes
    added = [path for path in BY_LAYER if list_in(before.layers, path) is None]
    lists = {path: values for path in added if (values := list_in(after.layers, path)) is not None}
    folded = ("layers", "depth", *lists)
    document: dict[str, Any] = {"architecture": before.model_dump()}
    for path, values in lists.items():
        _assign(document, path, values)
    try:
        made = type(after).model_validate(document["architecture"])
    except ValidationError:  # the baseline's program has some of these values, or another number of sublayers
        return changes
    fields = {path.partition(".")[0] for path in folded}
    if not lists or any(getattr(made, name) != getattr(after, name) for name in fields):
        return changes
    return {**{path: value for path, value in changes.items() if path not in folded}, **lists}


def _written(value: Any) -> JsonValue:
    """Return a value as an override is written: options by their changes from their defaults."""
    if isinstance(value, tuple) and any(isinstance(each, Schema) for each in value):
        return [_written(each) for each in value]
    return canonical(value) if isinstance(value, Schema) else value


def _assign(document: dict[str, Any], path: str, value: Any) -> None:
    *parents, leaf = absolute_path(path)
    node = document
    for parent in parents:
        if not isinstance(node.setdefault(parent, {}), dict):
            node[parent] = {}  # a path through a number; validation reports it
        node = node[parent]
    before = node.get(leaf)
    if isinstance(value, str) and isinstance(before, dict) and VARIANT_KEY in before:
        node[leaf] = {VARIANT_KEY: value}  # an option's name alone means the option with its defaults
    else:
        node[leaf] = dict(value) if isinstance(value, Mapping) else value


def _explain(
    error: ValidationError, changes: Changes, candidate: Candidate, document: dict[str, Any]
) -> list[Violation]:
    violations = []
    for fault in error.errors(include_url=False):
        path = tuple(part for part in fault["loc"] if isinstance(part, str))
        if fault["type"] == "extra_forbidden":
            message = _misplaced(path, candidate, document)
        elif fault["type"] == "union_tag_invalid":
            options = _options(type(getattr(candidate, path[0])), path[1]) if len(path) == 2 else ()
            message = _unknown_kind(fault["ctx"], options, _blame(path, changes))
        elif fault["type"] in ("union_tag_not_found", "model_attributes_type"):
            message = f"{fault['input']!r} is not an option; write the name of an option, or a mapping with a kind"
        elif fault["type"] == "missing":
            message = f"{path[-1]} is missing, which has no default; write a mapping with {path[-1]}"
        elif fault["type"] == "value_error":  # a validator of this project, with its own message
            message = fault["msg"].removeprefix("Value error, ")
        else:
            message = f"{fault['input']!r} {fault['msg'].replace('Input should be', 'is not allowed; it must be')}"
        violations.append(Violation((_blame(path, changes),), message))
    return violations


def _unknown_kind(context: Mapping[str, Any], options: Iterable[type[Schema]], axis: str) -> str:
    kind, known = str(context["tag"]), str(context["expected_tags"]).replace("'", "").split(", ")
    field, _ = field_of_value(kind, options) or ("", "")
    hint = f". Write {axis}.{field}: {kind}" if field else did_you_mean(kind, known, ". ", str)
    return f"{kind!r} is not a kind. Allowed: {', '.join(known)}{hint}"


def field_of_value(name: str, options: Iterable[type[Any]]) -> tuple[str, str] | None:
    """Return the field with a name among its values and the first option that has it; None if no field has."""
    return next(
        (
            (field, str(option.model_fields[VARIANT_KEY].default))
            for option in options
            for field, declared in option.model_fields.items()
            if field != VARIANT_KEY and name in get_args(declared.annotation)
        ),
        None,
    )


def _misplaced(path: tuple[str, ...], candidate: Candidate, document: dict[str, Any]) -> str:
    """Return the message on a field that nothing has at its place, with the options of the axis that have it."""
    if path[-1] in ("corpus", "tokenizer"):
        return f"{path[-1]} is of the experiment; an arm names another one that `data` declares: data: NAME"
    if path[:2] in {("architecture", each) for each in ("baseline", "pretraining", "design")}:
        hint = "; leave it out, as in heads or recipe.dropout" if path[1] == "baseline" else ""
        return f"{path[1]} is a section of the file, and no field of a candidate{hint}"
    leaf, axis, option = path[-1], path[0], document[path[0]]
    if (axis, option.get(VARIANT_KEY), leaf) == path:  # the part is an option itself: an objective
        options = _options(type(candidate), axis)
    else:
        axis, option = (path[1], option.get(path[1])) if len(path) > 1 else (axis, None)
        options = _options(type(getattr(candidate, path[0])), axis)
    if not isinstance(option, dict):
        return f"{leaf} is not a field of {path[0]}{_meant(leaf, candidate)}"
    owners = [option.model_fields[VARIANT_KEY].default for option in options if leaf in option.model_fields]
    names = [name for option in options for name in option.model_fields if name != VARIANT_KEY]
    belongs = f"; it belongs to {', '.join(owners)}" if owners else did_you_mean(leaf, names, ". ", str)
    return f"{leaf} is not a field of the {axis} {option.get(VARIANT_KEY)}{belongs}"


def _options(owner: type[Schema], name: str) -> tuple[type[Schema], ...]:
    """Return the options of an axis, a field of a schema; none of a field that is no axis."""
    field = owner.model_fields.get(name)
    options = () if field is None else options_of(field.annotation)
    return tuple(one for one in options if isinstance(one, type) and VARIANT_KEY in getattr(one, "model_fields", ()))


def _meant(leaf: str, candidate: Candidate) -> str:
    """Return the whole paths that a name may stand for: those of fields with this name, else with the nearest one."""
    places: dict[str, list[str]] = {}
    document: dict[str, Any] = candidate.model_dump()
    for part in ("architecture", *ROOTS):
        prefix = "" if part == "architecture" else f"{part}."
        for name, value in document[part].items():
            places.setdefault(name, []).append(f"{prefix}{name}")
            inside = [*value] if isinstance(value, dict) and VARIANT_KEY in value else []
            options = _options(type(getattr(candidate, part)), name)
            inside += [inner for option in options for inner in option.model_fields]
            for inner in dict.fromkeys(inside):
                places.setdefault(inner, []).append(f"{prefix}{name}.{inner}")
    near = leaf if leaf in places and leaf != VARIANT_KEY else closest(leaf, [*places])
    return "" if near is None else f". Did you mean {' or '.join(dict.fromkeys(places[near]))}?"


def _blame(path: tuple[str | int, ...], changes: Changes) -> str:
    """Return the override with the longest common prefix with the error's path; of several, one to the same field."""

    def shared(change: str) -> tuple[int, bool]:
        parts = absolute_path(change)
        return sum(left == right for left, right in zip(parts, path, strict=False)), parts[-1:] == path[-1:]

    return max(changes, key=shared)
