"""Files in the layouts of CoNLL: one word to a line, its columns apart by tabs, an empty line after each sentence.

Source of the ten columns of CoNLL-U: universaldependencies.org/format.html; the two of NER: Tjong Kim Sang and
De Meulder 2003, aclanthology.org/W03-0419, with word and tag first and last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tasks.corpora.file_lines import check_signature, text_lines
from tasks.labelled.mistakes import Mistakes
from tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles

COMMENT = "# "


@dataclass(frozen=True, slots=True)
class TaggedFiles:
    """A task of tagged words: where its files are, and which of their columns are read."""

    files: Mapping[str, str]
    """By part, the name of the file."""
    counts: Mapping[str, int]
    """Sentences of the train and dev files."""
    folder: str
    collection: str
    origin: str
    tags: tuple[str, ...]
    chance: float
    """Share of the primary metric where every word gets the most frequent tag."""
    columns: int
    word: int
    tag: int
    numbered: bool = False
    """Whether the first column numbers the words, as in CoNLL-U: lines of a range (`3-4`) or of an empty node (`3.1`)
    are no words, and lines that begin with `# ` are comments."""

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
            form="single",
            labels=self.tags,
            metrics=metrics,
            chance=self.chance,
            files=files,
            method="linear_probe",
        )


Sentence = list[tuple[str, int]]
"""Words, each with its tag as an index."""


def read_sentences(layout: TaggedFiles, part: str, path: Path, name: str) -> Part:
    """Return the sentences of a file as examples; raises DataError with every mistake of it."""
    check_signature(path, name, path.suffix if path.suffix in (".gz", ".xz") else "")
    mistakes = Mistakes(name)
    examples = tuple(
        Example(
            " ".join(word for word, _ in sentence), source=name, row=str(line), tags=tuple(tag for _, tag in sentence)
        )
        for line, sentence in _sentences(layout, text_lines(path, name), mistakes)
    )
    if not examples and not mistakes.count:
        mistakes.add(1, "the file holds no sentences")
    mistakes.refuse()
    return Part(examples)


def _sentences(
    layout: TaggedFiles, lines: Iterable[tuple[int, str]], mistakes: Mistakes
) -> Iterator[tuple[int, Sentence]]:
    """Yield the number of a sentence's first line, and the sentence."""
    first, sentence = 0, Sentence()
    for number, line in lines:
        if not line.strip():
            if sentence:
                yield first, sentence
            sentence = []
        elif not (layout.numbered and line.startswith(COMMENT)):
            word = _word(layout, line.split("\t"), number, mistakes)
            first = number if not sentence else first
            sentence += [] if word is None else [word]
    if sentence:
        yield first, sentence


def _word(layout: TaggedFiles, cells: list[str], line: int, mistakes: Mistakes) -> tuple[str, int] | None:
    """Return a word and its tag; None for a line that is none, and for a mistake."""
    if len(cells) != layout.columns:
        mistakes.add(line, f"{len(cells)} columns, expected {layout.columns}, apart by tabs")
        return None
    if layout.numbered and not cells[0].isdecimal():
        if not cells[0].replace("-", "").replace(".", "").isdecimal():
            mistakes.add(line, f"{cells[0][:40]!r} is no number of a word")
        return None
    word, tag = "".join(cells[layout.word].split()), cells[layout.tag].strip()
    if tag not in layout.tags:
        mistakes.add(line, f"the tag is {tag[:40]!r}; expected one of {', '.join(layout.tags)}")
        return None
    if not word:
        mistakes.add(line, "a tag without a word")
        return None
    return word, layout.tags.index(tag)
