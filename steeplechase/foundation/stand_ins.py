"""Stand-ins: options of records whose plugin is not loaded, known by their kind and their fields alone.

A reader of a ledger shows an option by its fields; what the option's code would compute raises CodeNeeded.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NoReturn, cast

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, create_model

from steeplechase.foundation.errors import ConflictError


class CodeNeeded(ConflictError):
    """What was asked of a recorded option needs the code of its plugin, which readers do not run; one line."""


class FrozenMapping(dict[str, Any]):
    """A mapping of plain values that is not changed, so that it has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Return the hash of its items."""
        return hash(frozenset(self.items()))


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    return FrozenMapping({key: _frozen(each) for key, each in value.items()}) if isinstance(value, Mapping) else value


Recorded = Annotated[Any, BeforeValidator(_frozen)]


def refuse(kind: str) -> NoReturn:
    """Raise CodeNeeded for an option or a sublayer of this kind."""
    raise CodeNeeded(f"{kind}: is of a plugin, whose code is not run to read results")


OF_RECORD: Mapping[str, bool] = {"of a record": True}
"""Validation context of records: an option whose plugin is not loaded is accepted, with the fields that it has."""
AT_MOST = 64
"""Stand-ins of one axis."""
FIELD = re.compile(r"[a-z][a-z0-9_]{0,63}")
_STAND_INS: dict[type[BaseModel], dict[str, type[Any]]] = {}
"""By axis and kind."""
Options = tuple[type[Any], ...]


def with_stand_ins(axis: type[BaseModel], options: Options) -> Options:
    """Return the options of an axis with the stand-ins of those that it lacks."""
    found = _STAND_INS.get(axis)
    if not found:
        return options
    kinds = set(map(_kind, options))
    return (*options, *(each for kind, each in found.items() if kind not in kinds))


def add(
    axis: type[BaseModel], options: Options, kind: str, defaults: Mapping[str, Any], values: Mapping[str, Any]
) -> bool:
    """Let an axis have an option by its fields alone; return whether it had none with them.

    `defaults` has its fields with their defaults, `values` what its properties return, `options` those of the axis.
    """
    known = next((each for each in options if _kind(each) == kind), None)
    if known is not None and known is not _STAND_INS.get(axis, {}).get(kind):
        return False  # its code is loaded
    if known is not None and defaults.keys() <= known.model_fields.keys():
        return False
    own = defaults.keys() - axis.model_fields.keys()
    if any(FIELD.fullmatch(name) is None or hasattr(axis, name) for name in own):
        return False  # no names of fields; validation refuses them
    if known is None and len(_STAND_INS.get(axis, {})) >= AT_MOST:
        return False
    earlier = {} if known is None else {name: field.default for name, field in known.model_fields.items()}
    fields = {**defaults, **{name: each for name, each in earlier.items() if name != "kind"}}
    _STAND_INS.setdefault(axis, {})[kind] = _stand_in(axis, kind, fields, values)
    return True


def admit(axis: type[BaseModel], options: Options, value: object) -> bool:
    """Let an axis have the option of a record; return whether it had none with these fields."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str):
        return False
    assert isinstance(value, Mapping)
    return add(axis, options, kind, dict.fromkeys(value.keys() - axis.model_fields.keys()), {})


def forget_stand_ins() -> bool:
    """Let every axis have the options alone that are loaded; return whether one had others."""
    had = bool(_STAND_INS)
    _STAND_INS.clear()
    return had


def is_stand_in(option: BaseModel) -> bool:
    """Return whether an option is known by its fields alone."""
    return is_stand_in_class(type(option))


def is_stand_in_class(option: type[BaseModel]) -> bool:
    """Return whether the options of a class are known by their fields alone."""
    return option.__module__ == __name__


def _kind(option: type[Any]) -> str:
    return str(option.model_fields["kind"].default)


def _stand_in(axis: type[BaseModel], kind: str, defaults: Mapping[str, Any], values: Mapping[str, Any]) -> type[Any]:
    """Return a subclass of an axis for a kind whose code is not loaded."""
    known = axis.model_fields
    fields: dict[str, Any] = {"kind": (Literal[kind], kind)}
    for name, default in defaults.items():
        if name in known and default is None and known[name].is_required():
            continue
        declared: Any = Recorded
        if name in known:
            declared = cast("Any", Annotated)[(known[name].annotation, *(known[name].metadata or (None,)))]
        held = default if isinstance(default, BaseModel) else TypeAdapter(declared).validate_json(json.dumps(default))
        fields[name] = (declared, Field(default=held))
    abstract: frozenset[str] = getattr(axis, "__abstractmethods__", frozenset())
    namespace: dict[str, Any] = {name: _without_code(axis, name, kind) for name in abstract - values.keys()}
    namespace |= {name: property(_returning(value)) for name, value in values.items()}
    make: Any = type(axis)
    base: type[BaseModel] = make(f"Recorded{axis.__name__}", (axis,), {**namespace, "__module__": __name__})
    made: type[Any] = create_model(f"Recorded_{kind}", __base__=base, __module__=__name__, **fields)
    return made


def _returning(value: Any) -> Callable[[Any], Any]:
    return lambda option: value


def _without_code(axis: type[BaseModel], name: str, kind: str) -> Any:
    def needed(self: Any, *arguments: Any, **named: Any) -> NoReturn:
        refuse(kind)

    return property(needed) if isinstance(getattr(axis, name), property) else needed
