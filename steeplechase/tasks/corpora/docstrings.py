"""Docstrings of one Python source file, read with `ast`: without importing or executing it."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.prose import clean_docstring, is_prose

TOPICS_MODULE = "pydoc_data.topics"  # the language reference, one dictionary of long texts

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class _Definition:
    node: _Documented
    name: str | None  # qualified; None for the module itself


def documents_of_source(module: str, source: bytes) -> Iterator[Document]:
    """Yield the documents of one module in source order: the module, then its classes and functions.

    Raises SyntaxError, ValueError or RecursionError if the source cannot be parsed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in third-party strings
        tree = ast.parse(source)
    if module == TOPICS_MODULE:
        yield from _topics(tree)
        return
    for definition in _definitions(tree):
        text = _docstring(definition.node)
        if text is not None and is_prose(text):
            yield Document(module, text, definition.name, _signature(definition.node))


def _definitions(tree: ast.Module) -> Iterator[_Definition]:
    pending = [_Definition(tree, None)]
    while pending:
        definition = pending.pop()
        yield definition
        prefix = "" if definition.name is None else f"{definition.name}."
        definitions = [node for node in definition.node.body if isinstance(node, _DEFINITIONS)]
        pending += [_Definition(node, prefix + node.name) for node in reversed(definitions)]


def _docstring(node: _Documented) -> str | None:
    raw = ast.get_docstring(node, clean=False)
    return None if raw is None else clean_docstring(raw.encode("utf-8", "ignore").decode())


def _signature(node: _Documented) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"({ast.unparse(node.args)})"
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                return _signature(member)
    return None


def _topics(tree: ast.Module) -> Iterator[Document]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
            topics: dict[str, str] = ast.literal_eval(statement.value)
            for name in sorted(topics):
                text = clean_docstring(topics[name])
                if is_prose(text):
                    yield Document(TOPICS_MODULE, text, name)
