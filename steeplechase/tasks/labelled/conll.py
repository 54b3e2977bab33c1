"""Reads CoNLL files: one word per line, columns separated by tabs or spaces, an empty line after each sentence.

Sources: universaldependencies.org/format.html for the ten columns of CoNLL-U; Tjong Kim Sang and De Meulder 2003,
aclanthology.org/W03-0419, for NER, where the first column is the word and the last the tag.

Tagging schemes of entities: IOB1 to IOB2. Tjong Kim Sang and Veenstra 1999, cs/9907006.

In IOB1, B begins an entity only directly after another entity of its type; all other entities begin with I. In IOB2,
every entity begins with B. A B begins an entity in both, and so does an I after another type or after no entity, so
that files that mix the two, as the official CoNLL-2003 files do in a few words, have one reading.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_packed_signature, text_lines
from steeplechase.tasks.labelled.example_files import ExampleFiles
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Part

COMMENT = "# "
DOCUMENT = "-DOCSTART-"
"""First cell of a line that begins a document, in the files of the shared task of 2003."""
NAMED_COLUMNS = "# global.columns ="
"""Comment of CoNLL-U Plus that names the columns: universaldependencies.org/ext-format.html."""
CONLL_U = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
"""Number of a range of words, or of an empty node, in CoNLL-U."""


Sentence = list[tuple[str, int]]
"""Words, each with its tag as an index."""


@dataclass(frozen=True, kw_only=True)
class TaggedFiles(ExampleFiles):
    """Files of a tagging task, and the layout of their columns; counts are of sentences."""

    tags: tuple[str, ...]
    chance: float
    """Primary metric, from 0 to 1, if every word has the most frequent tag."""
    columns: int
    """Number of columns."""
    word: int
    """Index of the column with the word."""
    tag: int
    """Index of the column with the tag."""
    numbered: bool = False
    """Whether the first column is the word number, as in CoNLL-U. Lines of a range (`3-4`), lines of an empty
    node (`3.1`) and comment lines, which begin with `# `, are then skipped."""
    separator: str = "\t"
    """Between columns; several spaces count as one."""
    document: str = ""
    """First column of a line that begins a document, in place of a word; the line is skipped and ends a sentence."""
    untagged: str = ""
    """Tag of a word whose cell is empty; where there is none, an empty cell is a mistake."""
    dev_percent: int = 0
    """Share of the train file's sentences that are dev, by a hash of their words, for a set without a dev file."""
    converts_to_iob2: bool = False
    """Whether IOB1 tags are converted to IOB2."""
    method: Literal["fine_tune", "linear_probe"] = "linear_probe"
    no_rows: ClassVar[str] = "the file has no sentences"

    def task(self, name: str, metrics: tuple[str, ...]) -> DownstreamTask:
        """Return the task; the first metric is the primary one."""
        return self.declared(name, "tags", metrics, self.chance, labels=self.tags, method=self.method)

    def read(self, part: str, path: Path, name: str) -> Part:
        """Return the sentences of a part; raises DataError with all mistakes of its file."""
        examples = super().read(part, path, name).examples
        if self.dev_percent and part in ("train", "dev"):
            examples = tuple(
                each for each in examples if (_percent(each.first) < self.dev_percent) == (part == "dev")
            )
        return Part(examples)

    def rows(self, part: str, path: Path, name: str, mistakes: Mistakes) -> Iterator[Example]:
        """Yield the sentences of a file."""
        check_packed_signature(path, name)
        for line, sentence in _sentences(self, text_lines(path, name), mistakes):
            tagged = _in_iob2(self, sentence) if self.converts_to_iob2 else sentence
            words, tags = zip(*tagged, strict=True)
            yield Example(" ".join(words), source=name, row=str(line), tags=tags)


def _percent(sentence: str) -> int:
    """Return a number from 0 to 99 by a hash of the words, so that equal sentences are in one part."""
    return int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:8], "big") % 100


def _in_iob2(layout: TaggedFiles, sentence: Sentence) -> Sentence:
    tags = to_iob2([layout.tags[tag] for _, tag in sentence])
    return [(word, layout.tags.index(tag)) for (word, _), tag in zip(sentence, tags, strict=True)]


def _sentences(
    layout: TaggedFiles, lines: Iterable[tuple[int, str]], mistakes: Mistakes
) -> Iterator[tuple[int, Sentence]]:
    """Yield the line number of each sentence's first word, and the sentence."""
    first_line, sentence = 0, Sentence()
    for number, line in lines:
        cells = line.split(layout.separator) if layout.separator == "\t" else line.split()
        if not line.strip() or cells[0] == layout.document:
            if sentence:
                yield first_line, sentence
            sentence = []
        elif not (layout.numbered and line.startswith(COMMENT)):
            word = _word(layout, cells, number, mistakes)
            first_line = number if not sentence else first_line
            sentence += [] if word is None else [word]
    if sentence:
        yield first_line, sentence


def _word(layout: TaggedFiles, cells: list[str], line: int, mistakes: Mistakes) -> tuple[str, int] | None:
    """Return the word and its tag; None for a line without a word, and for a mistake, which is collected."""
    if len(cells) != layout.columns:
        between = "tabs" if layout.separator == "\t" else "spaces"
        mistakes.add(line, f"{len(cells)} columns, expected {layout.columns} separated by {between}")
        return None
    if layout.numbered and not cells[0].isdecimal():
        if not cells[0].replace("-", "").replace(".", "").isdecimal():
            mistakes.add(line, f"{cells[0][:40]!r} is not a word number")
        return None
    word, tag = "".join(cells[layout.word].split()), cells[layout.tag].strip() or layout.untagged
    if tag not in layout.tags:
        mistakes.add(line, f"the tag is {tag[:40]!r}; expected one of {', '.join(layout.tags)}")
        return None
    if not word:
        mistakes.add(line, "a tag without a word")
        return None
    return word, layout.tags.index(tag)


TaggedSentence = tuple[int, list[str], list[str]]
"""The line of the first word, the words, and their tags."""


def conll_sentences(
    path: Path, name: str, columns: Sequence[str | int], mistakes: Mistakes
) -> Iterator[TaggedSentence]:
    """Yield the sentences of a user's file, whose `columns` are those of the words and of the tags.

    A column is a number, 1 the first and -1 the last, or a name of CoNLL-U or of a comment `# global.columns`.
    Columns are separated by tabs if the first line of words has one, else by spaces. Comments, lines of -DOCSTART-,
    and ranges and empty nodes of CoNLL-U are left out. A line with another number of columns is a mistake. Raises
    DataError for a file that cannot be read or lacks a column.
    """
    check_packed_signature(path, name)
    names, start, tabs, width = _first_words(path, name)
    places = [_place(column, names, width, f"{name}:{start}") for column in columns]
    numbered = path.name.removesuffix(path.suffix if path.suffix in (".gz", ".xz") else "").endswith(".conllu")
    first, words, tags = 0, list[str](), list[str]()
    for number, line in text_lines(path, name):
        cells = _cells(line, tabs)
        if not line.strip() or cells[0].strip() == DOCUMENT:
            if words:
                yield first, words, tags
            words, tags = [], []
        elif line.startswith(COMMENT) and (tabs or len(cells) != width):
            continue
        elif len(cells) != width:
            mistakes.add(number, f"{len(cells)} columns, expected {width} as in line {start}")
        elif not (numbered and NO_WORD.fullmatch(cells[0])):
            word, tag = ("".join(cells[place].split()) for place in places)
            first = first if words else number
            words, tags = [*words, word], [*tags, tag]
            if not word or not tag:
                mistakes.add(number, f"the {'tag' if word else 'word'} is empty")
    if words:
        yield first, words, tags


def _cells(line: str, tabs: bool) -> list[str]:
    """Return the cells of a line; spaces of Unicode, such as one that does not break, are parts of words."""
    return line.split("\t") if tabs else [cell for cell in line.split(" ") if cell]


def _first_words(path: Path, name: str) -> tuple[Sequence[str], int, bool, int]:
    """Return the names of the columns; of the first line of words its number, whether it has tabs, and its width."""
    names: Sequence[str] = CONLL_U if ".conllu" in path.suffixes else ()
    for number, line in text_lines(path, name):
        if line.startswith(NAMED_COLUMNS):
            names = line.removeprefix(NAMED_COLUMNS).split()
        elif line.strip() and not line.startswith((COMMENT, DOCUMENT)):
            return names, number, "\t" in line, len(_cells(line, "\t" in line))
    raise DataError(f"{name}:1: the file has no words")


def _place(column: str | int, names: Sequence[str], width: int, where: str) -> int:
    """Return the index of a column. Raises DataError if there is none."""
    number = names.index(column) + 1 if isinstance(column, str) and column in names else column
    if isinstance(number, str):
        known = f"; its names are {', '.join(names)}" if names else ""
        raise DataError(f"{where}: no column {column!r}{known}; columns of CoNLL have numbers: text: 1, tags: -1")
    if abs(number) > width:
        raise DataError(f"{where}: no column {number}; the line has {width} columns")
    return number - (number > 0)


BEGIN, INSIDE = "B-", "I-"


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of one sentence in IOB2; tags in IOB2 are unchanged."""
    types = ["", *(tag.partition("-")[2] for tag in tags)]
    return tuple(
        f"{BEGIN}{tag.removeprefix(INSIDE)}" if tag.startswith(INSIDE) and types[word] != types[word + 1] else tag
        for word, tag in enumerate(tags)
    )
