"""Base of all declarations: frozen, strict pydantic models, and the options of their axes."""

import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import ModuleType, UnionType
from typing import Annotated, Any, ClassVar, ParamSpec, TypeVar, Union, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
)
from pydantic_core import CoreSchema, PydanticUndefined, core_schema

from steeplechase.foundation.stand_ins import OF_RECORD, admit, with_stand_ins

__all__ = ["JsonValue"]

P = ParamSpec("P")
T = TypeVar("T")

VARIANT_KEY = "kind"  # the tag of every union; always part of the canonical text, even at its default
UNION = "union"


class Schema(BaseModel):
    """A frozen, strict value: unknown keys fail, types are never coerced, defaults are the baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)
    described_by: ClassVar[tuple[type[BaseModel], ...]] = ()
    """Of a generated declaration: the declarations whose docstrings describe its fields."""


PositiveNumber = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
"""A share of a whole, from 0 to 1."""

LARGEST_COUNT = 2**53
"""The largest whole number below which JSON readers keep every one apart (RFC 8259, section 6)."""

Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
"""A whole number from 1."""

Whole = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
"""A whole number from 0."""

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]

DEVICES = frozenset(
    ("CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10)))
)
"""What Windows takes for a device, whatever follows a dot: no folder can have the name."""


@dataclass(frozen=True)
class OfForm:
    """Marks a text that has a form; a text of another form is told an example, not the regular expression."""

    pattern: str
    """Of the whole text, as JSON Schema writes it: with ^ and $."""
    example: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a text of this form."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema for editors, with the pattern."""
        return {**handler(schema), "pattern": self.pattern}

    def _checked(self, text: str) -> str:
        if re.fullmatch(self.pattern, text) is None:
            raise ValueError(f"{text!r:.80} is not allowed; write it as in {self.example}")
        return text


def _no_device(name: str) -> str:
    if name.partition(".")[0].upper() in DEVICES:
        raise ValueError(
            f"{name!r} names a device on Windows, where no folder can have this name; write {name[0]}_{name[1:]}"
        )
    return name


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"), AfterValidator(_no_device)]
"""A name that is safe in a path, a table and a URL."""


class OpenOption(Schema):
    """Base class of the options of an axis that is open: its options are those that `package` has when needed.

    A subclass of an axis names the package. A folder that extends the package's `__path__` adds its options, each in
    a file that is named as the option's `kind`.
    """

    package: ClassVar[str]
    """The package whose files have the options of this axis."""
    modules: ClassVar[str] = ""
    """The package whose files of the same names build the options; empty if options need no building."""
    entry: ClassVar[str] = ""
    """The class or function that such a file defines."""
    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({},)
    """Settings at which the contracts check the option; one without a default for a field gives values here."""
    kind: str
    """Chooses the option."""


class OptionByKind:
    """Marks a union of options: a mapping chooses by its `kind`; a name alone is the option with its defaults.

    It marks a union of declarations, or the base class of an open axis. Names alone are allowed in files only. JSON
    comes from serialised declarations, where every option is a mapping; it is validated as JSON, because tuples would
    stay lists otherwise.
    """

    def __get_pydantic_core_schema__(self, union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the tagged union; values from Python first pass a validator that turns a name into a mapping."""
        if _is_open(union):
            return core_schema.with_info_plain_validator_function(_validated_by(union), metadata={UNION: union})
        tagged = handler.generate_schema(Annotated[union, Field(discriminator=VARIANT_KEY)])
        named = core_schema.no_info_before_validator_function(_option_named, tagged)
        return core_schema.json_or_python_schema(tagged, named, metadata={UNION: union})

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema for editors, which allows both names and mappings."""
        union = schema["metadata"][UNION]
        names = [*_names_alone(union)]
        options = handler(_adapter(options_of(union)).core_schema if _is_open(union) else schema)
        return {"anyOf": [{"enum": names, "type": "string"}, options]} if names else options


OPTION = OptionByKind()


class OrList:
    """Marks a value that files may have as a list of such values, which a validator of its owner reads before."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of one value or of a list."""
        one = handler(schema)
        alternatives = one["anyOf"] if [*one] == ["anyOf"] else [one]
        return {"anyOf": [*alternatives, {"type": "array", "items": one, "minItems": 1}]}


def options_of(union: Any) -> tuple[Any, ...]:
    """Return the members of a union, the options that the package of an open axis has now, or the type itself."""
    if get_origin(union) in (Union, UnionType):
        return get_args(union)
    if not _is_open(union):
        return (union,)
    package = sys.modules.get(union.package) or import_module(union.package)
    return with_stand_ins(union, _options_in(union, tuple(package.__path__)))


def options_defined(module: ModuleType, axis: type[OpenOption]) -> tuple[type[OpenOption], ...]:
    """Return the options of an axis that a module defines; classes without a kind hold what options share."""
    defined = (
        each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
    )
    return tuple(each for each in defined if issubclass(each, axis) and kind_of(each))


def kind_of(option: type[OpenOption]) -> str:
    """Return the kind that chooses an option; an empty text for a class that options share."""
    default = option.model_fields[VARIANT_KEY].default
    return "" if default is PydanticUndefined else str(default)


def axis_of(package: str) -> type[OpenOption] | None:
    """Return the open axis whose options are in a package, None if there is none."""
    import_module(package)  # which defines its axis
    return next((axis for axis in open_axes() if axis.package == package), None)


def open_axes() -> Iterator[type[OpenOption]]:
    """Yield the open axes that are imported."""
    return (axis for axis in subclasses(OpenOption) if "package" in vars(axis))


def subclasses(parent: type[T]) -> Iterator[type[T]]:
    """Yield the classes below a class, each before those below it."""
    for each in parent.__subclasses__():
        yield each
        yield from subclasses(each)


def _is_open(union: Any) -> bool:
    return isinstance(union, type) and issubclass(union, OpenOption) and "package" in vars(union)


MOST_RESULTS = 4096
"""Of a function that are kept, for a long search."""


def cached_until_options_change(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with its results kept until an axis gets another option."""
    cached = lru_cache(MOST_RESULTS)(function)
    _CACHES.append(cached.cache_clear)
    return cast("Callable[P, T]", cached)


def options_changed() -> None:
    """Forget what was computed from the options that the axes had before."""
    for clear in _CACHES:
        clear()


_CACHES: list[Callable[[], None]] = []


@cached_until_options_change
def _options_in(axis: type[OpenOption], path: tuple[str, ...]) -> tuple[type[OpenOption], ...]:
    """Return the options of a package and of the files in its folders, sorted by kind."""
    files = (import_module(f"{axis.package}.{each.name}") for each in pkgutil.iter_modules(path))
    modules = (import_module(axis.package), *files)
    return tuple(sorted((each for module in modules for each in options_defined(module, axis)), key=kind_of))


@cached_until_options_change
def _adapter(options: tuple[Any, ...]) -> TypeAdapter[OpenOption]:
    """Return the validator of the options; a union of one member has no discriminator."""
    union = cast("Any", Annotated)[cast("Any", Union)[options], Field(discriminator=VARIANT_KEY)]
    return TypeAdapter(union if len(options) > 1 else options[0])


def _validated_by(axis: type[OpenOption]) -> Callable[[Any, ValidationInfo], OpenOption]:
    """Return a validator for the options that the axis has when it is called; pydantic keeps the paths of errors."""

    def validated(value: Any, info: ValidationInfo) -> OpenOption:
        if info.mode == "json":
            return _of_json(axis, json.dumps(value), info.context is OF_RECORD)
        return _adapter_for(axis, value, info.context).validate_python(_option_named(value), context=info.context)

    return validated


@cached_until_options_change
def _of_json(axis: type[OpenOption], text: str, recorded: bool) -> OpenOption:
    """Return the option of a text, one for all candidates that share it."""
    context = OF_RECORD if recorded else None
    return _adapter_for(axis, json.loads(text), context).validate_json(text, context=context)


def _adapter_for(axis: type[OpenOption], value: object, context: object) -> TypeAdapter[OpenOption]:
    """Return the validator of the options that an axis has, with that of a record."""
    if context is OF_RECORD and admit(axis, options_of(axis), value):
        options_changed()
    return _adapter(options_of(axis))


def _option_named(value: object) -> object:
    return {VARIANT_KEY: value} if isinstance(value, str) else value


def _names_alone(union: Any) -> Iterator[str]:
    """Yield the kinds of the options whose fields all have defaults."""
    for option in options_of(union):
        if not any(field.is_required() for field in option.model_fields.values()):
            yield from map(str, get_args(option.model_fields[VARIANT_KEY].annotation))


def partial(*declarations: type[Schema]) -> type[Schema]:
    """Return a declaration of all their fields, each of which may be left out: it is None then."""
    fields: dict[str, Any] = {}
    for name, field in ((name, field) for each in declarations for name, field in each.model_fields.items()):
        bounded: Any = field.annotation
        if field.metadata:
            bounded = cast("Any", Annotated)[(field.annotation, *field.metadata)]
        fields[name] = (bounded | None, Field(default=None, examples=field.examples))
    made = create_model("Partial", __base__=Schema, **fields)
    made.described_by = declarations
    return made


def first_fault(error: ValidationError) -> str:
    """Return the first error as one line: location and message."""
    fault, more = error.errors(include_url=False)[0], error.error_count() - 1
    location = ".".join(map(str, fault["loc"]))
    return f"{location}: {fault['msg']}" + (f" (and {more} more)" if more else "")
