"""Serialises rows of a ledger to plain JSON values and back, for the database and the CSV export."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError, create_model
from pydantic_core import to_json

from search_space.candidate import Candidate
from steeplechase.configuration.plugins import loaded_plugins
from steeplechase.foundation.canonical import canonical, parsed_json
from steeplechase.foundation.schema import JsonValue, Schema, first_fault
from steeplechase.foundation.stand_ins import OF_RECORD, CodeNeeded
from steeplechase.ledger.records import ArmRow, Decision, Record, Status, TrialRow
from steeplechase.ledger.stage_results import Result, StageResult, result_class

Row = ArmRow | TrialRow | Record | Decision
R = TypeVar("R", ArmRow, TrialRow, Record, Decision)

STATUS = TypeAdapter(Status)
"""Built once: a ledger has thousands of records."""
IN_JSON = ("candidate", "result")
"""Fields that `parsed` expects as JSON text."""
_ARM_FIRST = ("name", "position", "cohort", "candidate", "changes", "parameters", "forward_flops", "train_flops")


def read_result(stage: str, status: Status, document: str | bytes) -> StageResult:
    """Return the result of a stage from its JSON. Raises ValueError, in one line, if it is invalid for that stage."""
    kind = result_class(stage, status)
    if kind is None:
        unknown = (
            "is not a kind of stage"
            if status is Status.FINISHED
            else f"is not a kind of stage that is {status.value}"
        )
        raise ValueError(f"{stage!r} {unknown}; another version may have written it")
    try:
        return kind.model_validate_json(document)
    except ValidationError as error:
        raise ValueError(f"the result of a {status.value} {stage} stage: {first_fault(error)}") from error


def columns(kind: type[Row]) -> tuple[str, ...]:
    """Return the names of a row's fields in the order of an export."""
    names = tuple(field.name for field in fields(kind))
    if kind is not ArmRow:
        return names
    return (*_ARM_FIRST, *(name for name in names if name not in _ARM_FIRST))


def plain(row: Row) -> dict[str, JsonValue]:
    """Return a row's values by column."""
    return {name: _plain(getattr(row, name)) for name in columns(type(row))}


def document_of(row: Row) -> dict[str, JsonValue]:
    """Return a row's document without fields at their default, so that a new field does not change older rows."""
    defaults = {field.name: field.default for field in fields(row)}
    return {name: value for name, value in plain(row).items() if getattr(row, name) != defaults[name]}


def _plain(value: Any) -> Any:
    if isinstance(value, Candidate):
        return canonical(value)
    if isinstance(value, Result):
        return value.as_json
    if isinstance(value, Mapping):
        return dict(value)
    return [*value] if isinstance(value, tuple) else value


def parsed(kind: type[R], content: Mapping[str, Any]) -> R:
    """Return a row from its values; fields in `IN_JSON` are JSON text.

    Raises ValueError, in one line, if they are not a row of this kind, CodeNeeded if a loaded plugin declares an
    option otherwise than the row has it.
    """
    values, row = dict(content), cast("Any", kind)  # mypy takes a class of hashable objects for unhashable
    try:
        if kind is ArmRow:
            values["candidate"] = Candidate.model_validate_json(values.get("candidate", ""), context=OF_RECORD)
        if kind is Record:
            status = STATUS.validate_python(values.get("status"))
            stage, result = str(values.get("stage")), values.get("result", "")
            values |= {"status": status, "result": read_result(stage, status, result)}
        checked = _shape(row).model_validate(values)
    except ValidationError as error:
        if files := _declared_in(error):
            arm = f"arm {values.get('name')} was run with: {first_fault(error)}"
            fix = "to go on here, restore it; else choose another --out folder"
            raise CodeNeeded(f"{', '.join(files)}: has other fields than {arm}; {fix}") from error
        raise ValueError(first_fault(error)) from error
    return kind(**{field.name: getattr(checked, field.name) for field in fields(kind)})


def _declared_in(error: ValidationError) -> list[str]:
    """Return the files of loaded plugins that declare the options in which the faults are."""
    named = {str(part) for fault in error.errors() for part in fault["loc"]}
    files = ((Path(*module.split(".")), file) for plugin in loaded_plugins() for module, file in plugin.files.items())
    return [str(file) for place, file in files if place.name in named and place.parts[0] == "search_space"]


def parsed_text(kind: type[R], text: str, numbered: Mapping[str, int]) -> R:
    """Return a row from its JSON object, and its number if that is a field.

    Raises ValueError or TypeError, in one line, if they are not a row of this kind.
    """
    content = parsed_json(text)
    if not isinstance(content, dict):
        raise TypeError("is not an object")
    return parsed(kind, {**with_texts(content), **numbered})


def with_texts(content: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Return a row's values with those as JSON text that `parsed` expects so."""
    return {name: to_json(value) if name in IN_JSON else value for name, value in content.items()}


@cache
def _shape(kind: Any) -> type[Schema]:
    """Return the declaration of a row's fields; a dataclass alone is never made from a mapping in strict mode."""
    hints = get_type_hints(kind, include_extras=True)
    given: dict[str, Any] = {
        field.name: (hints[field.name], ... if field.default is MISSING else field.default) for field in fields(kind)
    }
    given |= {
        field.name: (hints[field.name], Field(default_factory=field.default_factory))
        for field in fields(kind)
        if field.default_factory is not MISSING
    }
    return create_model(kind.__name__, __base__=Schema, **given)
