"""Flags: the fields of a frozen class that are options of the command line too, each with its help and its bounds."""

from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from search_space.module_factories import FLAG as FACTORIES_OF
from steeplechase.foundation.errors import ConfigurationError, not_one_of

DEFAULT_SCALE = "demo"


class WrongSetting(ConfigurationError):
    """A value of a field is out of range, or goes with no other; the command line names the field by its flag."""

    def __init__(self, name: str, message: str) -> None:
        self.flag, self.message = flag_of(name), message
        super().__init__(f"{name}: {message}")


def flag_of(name: str) -> str:
    """Return the flag of a field that names none of its own."""
    return f"--{name.replace('_', '-')}"


def options_of(settings: type) -> Iterator[tuple[Field[Any], Any, OptionInfo]]:
    """Yield every field of a class of settings that is a flag, with its type and its option."""
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        if get_origin(hints[field.name]) is Annotated:
            kind, option = get_args(hints[field.name])
            yield field, kind, option


def refuse_out_of_range(settings: Any) -> None:
    """Raise WrongSetting for a value that is not one of its field's, or beyond its bounds."""
    for field, kind, option in options_of(type(settings)):
        value = getattr(settings, field.name)
        if get_origin(kind) is Literal and value not in (known := get_args(kind)):
            raise WrongSetting(field.name, not_one_of(value, f"an {field.name}", known))
        if value is None:
            continue
        if option.min is not None and value < option.min:
            raise WrongSetting(field.name, f"{value} is out of range; {option.min} or more are needed")
        if option.max is not None and value > option.max:
            raise WrongSetting(field.name, f"{value} is out of range; {option.max} at most are possible")


def folder_named(name: str | Path) -> Path:
    """Return a folder by its name; an empty name, as from an unset shell variable, is an error."""
    if str(name) == "":
        raise typer.BadParameter("the name is empty; write . for the current folder")
    return Path(name)


Scale = Annotated[
    str | None, typer.Option(help=f"One of the file's scales; default: {DEFAULT_SCALE}, if the file has it.")
]
FactoryPackages = Annotated[
    tuple[str, ...],
    typer.Option(
        FACTORIES_OF, metavar="PACKAGE", help="A package whose functions the file may name as factories; repeatable."
    ),
]
StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        help="Object store of the stages, such as s3://BUCKET/PREFIX; contacted only if it is given.",
        show_default=False,
    ),
]
