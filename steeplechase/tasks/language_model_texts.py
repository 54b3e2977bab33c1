"""Texts on which a language model is measured: plain files, WikiText's and text8's layouts, and what they count.

WikiText: Merity et al. 2016, arXiv 1609.07843: a line that is ` = Title = ` begins an article; words are separated by
spaces. text8: Mahoney 2006, mattmahoney.net/dc/textdata: one line of a to z and spaces, of which the last 5% are the
usual test set.
"""

import hashlib
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import Field

from steeplechase.foundation.atomic_files import read_bounded
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.tasks.data_folder import missing, resolved, similar_name

LARGEST_TEXT_BYTES = 2**32  # WikiText-103 has half a billion
READING_VERSION = 2  # incremented when the same file gives other documents or counts
ARTICLE = re.compile(r"^ ?= [^=](.*[^=])? = *$", re.MULTILINE)
OUTSIDE_TEXT8 = re.compile(r"[^a-z ]")
TEXT8_CHARACTERS, TEXT8_TEST = 100_000_000, 5_000_000

Layout = Literal["plain", "wikitext", "text8"]


class LanguageModelText(Schema):
    """A text file whose tokens are predicted."""

    path: str = Field(min_length=1, examples=["$STEEPLECHASE_DATA/text/wikitext-2-raw/wiki.test.raw"])
    """The file; `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets."""
    layout: Layout = "plain"
    """`plain`: one document. `wikitext`: articles with headings. `text8`: one line of a to z and spaces; of the whole
    file of 100 million characters the last 5 million, the usual test set, are read."""

    def inputs(self) -> JsonValue:
        """Return the identity of the file's content. Raises DataError."""
        return {
            "reading_version": READING_VERSION,
            "layout": self.layout,
            "sha256": hashlib.sha256(self._bytes()).hexdigest(),
        }

    def read(self) -> "ReadText":
        """Return the documents and what they count. Raises DataError, naming the file, if it is not such a text."""
        name = resolved(self.path)
        try:
            text = self._bytes().decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as wrong:
            raise DataError(f"{name}: byte {wrong.start} is not UTF-8") from wrong
        if self.layout == "text8":
            text = _of_text8(text.rstrip("\n"), name)
        documents = _articles(text) if self.layout == "wikitext" else [text]
        documents = [document for document in documents if document.strip()]
        if not documents:
            raise DataError(f"{name}: no text")
        return ReadText(
            tuple(documents), sum(len(each.split()) for each in documents), sum(len(each) for each in documents)
        )

    def _bytes(self) -> bytes:
        path = resolved(self.path)
        try:
            return read_bounded(path, LARGEST_TEXT_BYTES)
        except FileNotFoundError:
            raise missing(f"{path}: no such file{similar_name(path)}") from None
        except OSError as failure:
            raise DataError(f"{path}: {failure.strerror or failure}") from failure


@dataclass(frozen=True)
class ReadText:
    """The documents of a text, and its size in units that do not depend on a tokenizer."""

    documents: tuple[str, ...]
    words: int
    """Separated by white space; ends of lines are no words."""
    characters: int
    """With white space."""


def _articles(text: str) -> list[str]:
    starts = [0, *(found.start() for found in ARTICLE.finditer(text)), len(text)]
    return [text[first:last] for first, last in pairwise(starts)]


def _of_text8(text: str, name: Path) -> str:
    wrong = OUTSIDE_TEXT8.search(text)
    if wrong is not None:
        message = f"character {wrong.start()} is {wrong.group()!r}; text8 has a to z and spaces alone"
        raise DataError(f"{name}: {message}. Did you mean layout: plain?")
    return text[-TEXT8_TEST:] if len(text) == TEXT8_CHARACTERS else text
