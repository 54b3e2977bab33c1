"""The documentation corpus: docstrings of the standard library and of everything Steeplechase itself needs.

It is installed wherever Steeplechase runs, so the default experiment needs no network and no download.
"""

import hashlib
import platform
from collections.abc import Generator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from search_space.declaration import Declaration, JsonValue, Name, PositiveNumber
from tasks.corpora.docstrings import documents_of_source
from tasks.corpora.document import Document
from tasks.corpora.installed_modules import module_files, runtime_closure
from tasks.progress import Progress

READING_VERSION = 1  # raised whenever the same installed files give other documents
CHARACTERS_PER_MEGABYTE = 1_000_000


def _tuple_from_list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class DocumentationCorpus(Declaration):
    """English prose from docstrings, read with `ast` and never imported; a smaller corpus is a prefix of a larger."""

    kind: Literal["documentation"] = "documentation"
    """Chooses the installed documentation, which needs no download."""
    distributions: Annotated[tuple[Name, ...], BeforeValidator(_tuple_from_list), Field(min_length=1)] | None = None
    """Distributions to read with all they require; None is Steeplechase's own requirements."""
    maximum_megabytes: PositiveNumber | None = None
    """Stop reading after this many million characters; modules come in the order of a hash of their names."""

    def inputs(self) -> JsonValue:
        """Return what will be read: Python's version and every distribution's name and version, and the limit."""
        closure = runtime_closure(self.distributions)
        return {
            "kind": self.kind,
            "reading_version": READING_VERSION,
            "python": platform.python_version(),
            "distributions": [[name, distribution.version] for name, distribution in closure.items()],
            "maximum_megabytes": self.maximum_megabytes,
        }

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield every document, modules in the order of a hash of their names; return how many files failed.

        Raises EnvironmentRefused if a distribution asked for is not installed.
        """
        files = module_files(runtime_closure(self.distributions).values())
        limit = None if self.maximum_megabytes is None else self.maximum_megabytes * CHARACTERS_PER_MEGABYTE
        characters = unreadable = 0
        for index, module in enumerate(sorted(files, key=_reading_order)):
            share = index / len(files) if limit is None else max(index / len(files), characters / limit)
            if limit is not None and characters >= limit:
                break
            progress("reading documentation", share)
            try:
                found = list(documents_of_source(module, files[module].read_bytes()))
            except (OSError, SyntaxError, ValueError, RecursionError):
                unreadable += 1
                continue
            characters += sum(len(document.text) for document in found)
            yield from found
        progress("reading documentation", 1.0)
        return unreadable


def _reading_order(module: str) -> bytes:
    return hashlib.sha256(f"reading order:{module}".encode()).digest()
