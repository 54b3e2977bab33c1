"""Descriptions in the JSON schema, parsed from the docstrings below the fields when a schema is made.

Pydantic can parse them too (`use_attribute_docstrings`), but it does so at import of every declaration, which would
slow down every command.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class DescribingSchema(GenerateJsonSchema):
    """Pydantic's schema, with a description for every field that has a docstring."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of one declaration."""
        document = super().model_schema(schema)
        for name, text in field_docstrings(schema["cls"]).items():
            if name in document.get("properties", {}):
                document["properties"][name].setdefault("description", text)
        return document


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring below each field by the field's name; a subclass's overrides that of its base."""
    declarations = [each for each in reversed(model.__mro__) if issubclass(each, BaseModel) and each is not BaseModel]
    return {name: text for each in declarations for name, text in _docstrings(each)}


@cache  # a declaration is part of many schemas, and each reading parses its whole file
def _docstrings(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    return tuple(_parsed(model))


def _parsed(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    if "described_by" in vars(model):  # generated from other declarations, without source code of its own
        for each in vars(model)["described_by"]:
            yield from field_docstrings(each).items()
        return
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    for field, after in pairwise(definition.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
