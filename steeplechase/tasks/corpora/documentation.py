"""The documentation corpus: docstrings of the standard library and of Steeplechase's dependencies.

It is installed with Steeplechase, so the default experiment needs no download.
"""

import ast
import hashlib
import platform
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from steeplechase.foundation.schema import JsonValue, Name, PositiveNumber
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.installed_modules import (
    content_of,
    content_of_distribution,
    modules_of,
    runtime_closure,
    standard_library,
    version_of,
)
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.corpora.prose import clean_docstring, is_prose
from steeplechase.tasks.progress import Progress, place

READING_VERSION = 1  # incremented when the documents of the same installed files change
CHARACTERS_PER_MEGABYTE = 1_000_000
READING = "reading documentation"


def _tuple_from_list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class DocumentationCorpus(CorpusOption):
    """English prose from docstrings, parsed with `ast`; a smaller corpus is a prefix of a larger one."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({"maximum_megabytes": 2},)

    kind: Literal["documentation"] = "documentation"
    """Chooses the installed documentation, which needs no download."""
    distributions: Annotated[tuple[Name, ...], BeforeValidator(_tuple_from_list), Field(min_length=1)] | None = None
    """Distributions to read with all they require, for text of another field; None: Steeplechase's requirements."""
    maximum_megabytes: PositiveNumber | None = None
    """Stop reading after this many million characters; modules come in the order of a hash of their names."""

    def inputs(self) -> JsonValue:
        """Return the inputs and the limit: Python and every distribution, each with the hash of its modules.

        Raises MachineError as reading does, and if a requested distribution is not installed.
        """
        return {
            "kind": self.kind,
            "reading_version": READING_VERSION,
            "python": [platform.python_version(), content_of(standard_library())],
            "distributions": [
                [name, version_of(distribution), content_of_distribution(name, distribution)]
                for name, distribution in runtime_closure(self.distributions).items()
            ],
            "maximum_megabytes": self.maximum_megabytes,
        }

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield every document, modules in the order of a hash of their names; return the number of unparsable files.

        Those are skipped; most are templates with placeholders. Raises MachineError for a file that is missing,
        unreadable or modified since installation, and if a requested distribution is not installed.
        """
        files = dict(standard_library())
        for name, distribution in runtime_closure(self.distributions).items():
            files.update(modules_of(name, distribution))
        limit = None if self.maximum_megabytes is None else self.maximum_megabytes * CHARACTERS_PER_MEGABYTE
        characters = unreadable = 0
        for index, module in enumerate(
            sorted(files, key=lambda name: hashlib.sha256(f"reading order:{name}".encode()).digest())
        ):
            share = index / len(files) if limit is None else max(index / len(files), characters / limit)
            if limit is not None and characters >= limit:
                break
            progress(_position(index + 1, len(files), characters, self.maximum_megabytes), share)
            source = files[module].read()
            try:
                parsed = list(documents_of_source(module, source))
            except (
                SyntaxError,
                ValueError,
                RecursionError,
            ):  # a function of the content alone, so the same on every run
                unreadable += 1
                continue
            characters += sum(len(document.text) for document in parsed)
            yield from parsed
        progress(READING, 1.0)
        return unreadable


def _position(module: int, modules: int, characters: int, megabytes: float | None) -> str:
    if megabytes is None:
        return place(READING, "module", module, modules)
    return f"{READING}: {characters / CHARACTERS_PER_MEGABYTE:.1f} of {megabytes:g} MB"


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
        raw = ast.get_docstring(definition.node, clean=False)
        text = None if raw is None else clean_docstring(raw.encode("utf-8", "ignore").decode())
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
