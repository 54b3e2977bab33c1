"""Descriptions in the JSON schema, read from the docstrings behind the fields when a schema is asked for.

Pydantic can read them itself (`use_attribute_docstrings`), but then it parses the source of every declaration
whenever one is imported, and every command would wait for that.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class DescribingSchema(GenerateJsonSchema):
    """Pydantic's own schema, with a description for every field that has a docstring."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of one declaration."""
        found = super().model_schema(schema)
        for name, text in field_docstrings(schema["cls"]).items():
            if name in found.get("properties", {}):
                found["properties"][name].setdefault("description", text)
        return found


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring behind each field by the field's name; a subclass's own comes before that of its base."""
    declarations = [each for each in reversed(model.__mro__) if issubclass(each, BaseModel) and each is not BaseModel]
    return {name: text for each in declarations for name, text in _docstrings(each)}


def _docstrings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    if "described_by" in vars(model):  # made from other declarations, without a source of its own
        for each in vars(model)["described_by"]:
            yield from _docstrings(each)
        return
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    for field, after in pairwise(definition.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
