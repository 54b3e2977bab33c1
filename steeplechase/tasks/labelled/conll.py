"""Reads CoNLL files: one word per line, columns separated by tabs or spaces, an empty line after each sentence.

Sources: universaldependencies.org/format.html for the ten columns of CoNLL-U; Tjong Kim Sang and De Meulder 2003,
aclanthology.org/W03-0419, for NER, where the first column is the word and the last the tag.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.labelled.iob import to_iob2
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles

COMMENT = "# "
DOCUMENT = "-DOCSTART-"
"""First cell of a line that begins a document, in the files of the shared task of 2003."""
NAMED_COLUMNS = "# global.columns ="
"""Comment of CoNLL-U Plus that names the columns: universaldependencies.org/ext-format.html."""
CONLL_U = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
"""Number of a range of words, or of an empty node, in CoNLL-U."""


@dataclass(frozen=True, slots=True)
class TaggedFiles:
    """Files of a tagging task, and the layout of their columns."""

    files: Mapping[str, str]
    """File name by part."""
    counts: Mapping[str, int]
    """Number of sentences by part, for train and dev."""
    folder: str
    """Name of the folder of the files; `collection` may be its parent folder."""
    collection: str
    origin: str
    """Download page, for messages."""
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

    def task(self, name: str, metrics: tuple[str, ...]) -> DownstreamTask:
        """Return the task; the first metric is the primary one."""
        files = TaskFiles(
            folder=self.folder,
            parts=self.files,
            origin=self.origin,
            read=partial(read_sentences, self),
            counts=self.counts,
            collection=self.collection,
        )
        return DownstreamTask(
            name=name,
            version=1,
            form="tags",
            labels=self.tags,
            metrics=metrics,
            chance=self.chance,
            files=files,
            method=self.method,
        )


Sentence = list[tuple[str, int]]
"""Words, each with its tag as an index."""


def read_sentences(layout: TaggedFiles, part: str, path: Path, name: str) -> Part:
    """Return the sentences of the file `path` as examples; `name` is its name in messages.

    Raises DataError with all mistakes of the file.
    """
    check_signature(path, name, path.suffix if path.suffix in (".gz", ".xz") else "")
    mistakes = Mistakes(name)
    sentences = list(_sentences(layout, text_lines(path, name), mistakes))
    if layout.converts_to_iob2:
        sentences = [(line, _in_iob2(layout, sentence)) for line, sentence in sentences]
    examples = tuple(
        Example(
            " ".join(word for word, _ in sentence), source=name, row=str(line), tags=tuple(tag for _, tag in sentence)
        )
        for line, sentence in sentences
    )
    if not examples and not mistakes.count:
        mistakes.add(1, "the file has no sentences")
    mistakes.refuse()
    if layout.dev_percent and part in ("train", "dev"):
        examples = tuple(each for each in examples if (_percent(each.first) < layout.dev_percent) == (part == "dev"))
    return Part(examples)


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
    check_signature(path, name, path.suffix if path.suffix in (".gz", ".xz") else "")
    names, start, tabs, width = _first_words(path, name)
    places = [_place(column, names, width, f"{name}:{start}") for column in columns]
    numbered = path.name.removesuffix(path.suffix if path.suffix in (".gz", ".xz") else "").endswith(".conllu")
    first, words, tags = 0, list[str](), list[str]()
    for number, line in text_lines(path, name):
        cells = line.split("\t") if tabs else line.split()
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


def _first_words(path: Path, name: str) -> tuple[Sequence[str], int, bool, int]:
    """Return the names of the columns; of the first line of words its number, whether it has tabs, and its width."""
    names: Sequence[str] = CONLL_U if ".conllu" in path.suffixes else ()
    for number, line in text_lines(path, name):
        if line.startswith(NAMED_COLUMNS):
            names = line.removeprefix(NAMED_COLUMNS).split()
        elif line.strip() and not line.startswith((COMMENT, DOCUMENT)):
            return names, number, "\t" in line, len(line.split("\t") if "\t" in line else line.split())
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
