"""The documentation corpus: docstrings of the standard library and of Steeplechase's dependencies.

It is installed with Steeplechase, so the default experiment needs no download.
"""

import hashlib
import platform
from collections.abc import Generator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from steeplechase.foundation.schema import JsonValue, Name, PositiveNumber
from steeplechase.tasks.corpora.docstrings import documents_of_source
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.installed_modules import (
    content_of,
    modules_of,
    runtime_closure,
    standard_library,
    version_of,
)
from steeplechase.tasks.corpora.option import CorpusOption
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
                [name, version_of(distribution), content_of(modules_of(name, distribution))]
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
        for index, module in enumerate(sorted(files, key=_reading_order)):
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


def _reading_order(module: str) -> bytes:
    return hashlib.sha256(f"reading order:{module}".encode()).digest()
