"""WiC, words in context: whether a word has the same meaning in two sentences (arXiv 1808.09121).

Source: Pilehvar and Camacho-Collados 2019; pilehvar.github.io/wic, version 1.0: for each part a tab-separated file of
word, part of speech, the places of the word in both sentences, and the sentences, in words; and beside it a file of
labels, T or F, line by line.
Split: the official train, dev and test parts; a test part without labels is predicted only.
Metric: accuracy. Chance is one half: dev and test are balanced.
The word stands in quotation marks in both sentences, so that a head on [CLS] knows which word is asked for (ours; the
paper's models and SenseBERT's read the vectors of the two words).
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Part, TaskFiles

LABELS = ("F", "T")
PARTS_OF_SPEECH = ("N", "V")
COLUMNS = ("word", "part of speech", "places", "first sentence", "second sentence")


def labels_beside(path: Path) -> Path:
    """Return the file of the labels of a part's file."""
    return path.with_name(path.name.replace(".data.", ".gold."))


def read(part: str, path: Path, name: str) -> Part:
    """Return the examples of a part; raises DataError with every mistake of its files."""
    mistakes = Mistakes(name)
    gold = labels_beside(path)
    labels = [*_labels(gold)] if gold.exists() or part != "test" else None
    examples = [*_examples(path, name, mistakes)]
    if labels is not None and len(labels) != len(examples):
        mistakes.add(len(examples), f"{len(examples)} rows, and {gold.name} has {len(labels)} labels")
    if not examples:
        mistakes.add(1, "the file has no rows")
    mistakes.refuse()
    found = [each for each in examples if each is not None]
    if labels is None:
        return Part(tuple(found))
    return Part(tuple(replace(example, label=label) for example, label in zip(found, labels, strict=True)))


def _labels(path: Path) -> Iterator[int]:
    mistakes = Mistakes(path.name)
    for line, text in text_lines(path, path.name):
        if text.strip() in LABELS:
            yield LABELS.index(text.strip())
        else:
            mistakes.add(line, f"the label is {text.strip()!r:.40}; expected T or F")
    mistakes.refuse()


def _examples(path: Path, name: str, mistakes: Mistakes) -> Iterator[Example | None]:
    """Yield the example of every row, None for a row with a mistake."""
    for line, text in text_lines(path, name):
        cells = text.split("\t")
        if len(cells) != len(COLUMNS):
            mistakes.add(line, f"{len(cells)} cells, expected {len(COLUMNS)}: {', '.join(COLUMNS)}")
            yield None
            continue
        if cells[1] not in PARTS_OF_SPEECH:
            mistakes.add(line, f"the part of speech is {cells[1]!r:.40}; expected N or V")
        places = cells[2].split("-")
        sentences = (cells[3].split(" "), cells[4].split(" "))
        if len(places) != 2 or not all(_is_place(*each) for each in zip(places, sentences, strict=True)):
            lengths = " and ".join(str(len(words)) for words in sentences)
            mistakes.add(line, f"the places are {cells[2]!r:.40}; the sentences have {lengths} words, the first is 0")
            yield None
            continue
        first, second = (_marked(words, int(place)) for words, place in zip(sentences, places, strict=True))
        yield Example(first, second, source=name, row=str(line - 1))


def _is_place(place: str, words: list[str]) -> bool:
    return place.isdecimal() and int(place) < len(words)


def _marked(words: list[str], place: int) -> str:
    return " ".join([*words[:place], f'" {words[place]} "', *words[place + 1 :]])


TASK = DownstreamTask(
    name="wic",
    version=1,
    form="pair",
    labels=LABELS,
    metrics=("accuracy",),
    chance=0.5,
    files=TaskFiles(
        folder="WiC",
        parts={part: f"{part}/{part}.data.txt" for part in ("train", "dev", "test")},
        origin="pilehvar.github.io/wic",
        read=read,
        counts={"train": 5428, "dev": 638},
        collection="supersense",
        beside={part: f"{part}.gold.txt" for part in ("train", "dev", "test")},
    ),
)
