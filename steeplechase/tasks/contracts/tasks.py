"""Contracts of downstream tasks: what a declaration and its examples promise. They hold for plugins too.

A task of documents is built from two megabytes of the corpus of an experiment that has it, else of the installed
documentation; of one with files, the dev part is read where the folder of published data sets has it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.plugin_code import explained
from steeplechase.models.contract import Broken, NotDeclared, Outcome, outcomes_of
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from steeplechase.tasks.corpora.option import Corpus
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.labelled.scoring import score
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.progress import silent

MEGABYTES = 2.0
TRAIN, DEV = 40, 20
PUBLISHED = FolderOfTasks(path="$STEEPLECHASE_DATA")
UNLABELLED_FORMS = ("span", "windows", "text_pair")
"""Forms whose target is a text."""
RIGHT = 99.999


@dataclass(frozen=True)
class ReadTask:
    """A task with the examples that the contracts are checked on."""

    task: DownstreamTask
    documents: tuple[Document, ...]
    """What the examples are built from; none for a task with files."""
    examples: Examples


@cache
def documentation() -> tuple[Document, ...]:
    """Return the documents that tasks without files are built from."""
    return tuple(DocumentationCorpus(maximum_megabytes=MEGABYTES).documents(silent))


def first_documents(corpus: Corpus) -> tuple[Document, ...]:
    """Return the documents of a corpus up to as many megabytes as the contracts read. Raises DataError."""
    found, characters = [], 0
    for document in corpus.documents(silent):
        found.append(document)
        characters += len(document.text)
        if characters >= MEGABYTES * 1e6:
            break
    return tuple(found)


def task_contracts(
    task: DownstreamTask, documents: Callable[[], tuple[Document, ...]] = documentation
) -> Iterator[Outcome]:
    """Yield the outcome of every contract; the contracts of its examples are skipped where its files are absent."""
    yield from outcomes_of({"its declaration fits its form": declaration_fits_form}, task, task.name)
    if task.squad is not None:
        yield Outcome(task.name, "its examples", skipped="SQuAD's reader makes windows of its questions")
        return
    try:
        read = () if task.build is None else documents()
        examples = _examples(task, read)
    except DataError as error:
        reason = str(error).partition("\n")[0]
        yield Outcome(task.name, "its examples", **({"problem": reason} if task.build else {"skipped": reason}))
        return
    except (Exception, SystemExit) as error:  # of the task's own code
        yield Outcome(task.name, "its examples", problem=explained(error))
        return
    yield from outcomes_of(CONTRACTS, ReadTask(task, read, examples), task.name)


def declaration_fits_form(task: DownstreamTask) -> None:
    """Check which of its fields are given: labels, a source of examples, metrics, the level of chance."""
    if (task.build is None) == (task.files is None):
        raise Broken("a task has either build, from documents, or files")
    if not task.metrics:
        raise Broken("it has no metric")
    if task.chance is not None and not 0 <= task.chance <= 1:
        raise Broken(f"chance is {task.chance:g}; it is the primary metric without reading, from 0 to 1")
    labelled = task.form not in UNLABELLED_FORMS and task.method != "minimal_pairs" and task.value_range is None
    if labelled != bool(task.labels):
        needed = "its labels by index" if labelled else "no labels"
        raise Broken(f"a task of form {task.form} has {needed}; it has {len(task.labels)}")


def examples_are_repeated(read: ReadTask) -> None:
    """Read the examples again; of documents, with the sources in another order too."""
    if _examples(read.task, read.documents) != read.examples:
        raise Broken("the examples differ when they are read again")
    reordered = tuple(sorted(read.documents, key=lambda document: document.source[::-1]))
    if read.documents and _examples(read.task, reordered) != read.examples:
        raise Broken("the examples depend on the order of the sources")


def targets_are_declared(read: ReadTask) -> None:
    """Check the target of every example against the declaration."""
    for number, example in enumerate(chain(read.examples.train, read.examples.dev)):
        if problem := _target_problem(read.task, example):
            raise Broken(f"example {number}, {example.first[:40]!r}: {problem}")


def parts_are_apart(read: ReadTask) -> None:
    """Check that no text and no source is in both train and dev."""
    if read.task.build is None:
        raise NotDeclared("the files decide it")
    train, dev = read.examples.train, read.examples.dev
    if sources := {each.source for each in train} & {each.source for each in dev}:
        raise Broken(f"{len(sources)} sources are in both train and dev: {min(sources)}")
    if texts := {_texts(each) for each in train} & {_texts(each) for each in dev}:
        raise Broken(f"{len(texts)} examples are in both train and dev: {min(texts)[0][:40]!r}")


def right_answers_score_highest(read: ReadTask) -> None:
    """Score the targets as predictions."""
    task, dev = read.task, read.examples.dev
    if task.form in ("windows", "text_pair", "tags") or task.method == "minimal_pairs":
        raise NotDeclared(f"predictions of a task of form {task.form} are not its targets")
    targets = [each.answer_text for each in dev] if task.form == "span" else [_number(task, each) for each in dev]
    scores = score(task, targets, targets)
    if set(scores) != set(task.metrics):
        raise Broken(f"metrics {', '.join(task.metrics)}; scored are {', '.join(scores)}")
    for name, value in scores.items():
        if not value >= RIGHT and len(set(targets)) > 1:
            raise Broken(f"{name} of the right answers is {value:g}, not 100")


def both_parts_have_examples(read: ReadTask) -> None:
    """Count the examples of train and dev; the train part of files is not read here."""
    train, dev = len(read.examples.train), len(read.examples.dev)
    trains = read.task.build is not None and read.task.method != "minimal_pairs"
    if not dev or (trains and not train):
        raise Broken(f"{'build' if read.task.build else 'its reader'} returned {train} train and {dev} dev examples")


CONTRACTS: Mapping[str, Callable[[ReadTask], None]] = {
    "train and dev have examples": both_parts_have_examples,
    "examples are the same in every reading": examples_are_repeated,
    "every target is a declared one": targets_are_declared,
    "train and dev share nothing": parts_are_apart,
    "right answers have the highest score": right_answers_score_highest,
}
"""By what `check` prints."""


def _examples(task: DownstreamTask, documents: tuple[Document, ...]) -> Examples:
    """Return the examples of both parts from documents, or the dev part of the files. Raises DataError."""
    if task.build is not None:
        return task.build(documents, TRAIN, DEV)
    assert task.files is not None
    assert task.files.read is not None
    path = PUBLISHED.located(task.files)["dev"]
    return Examples((), task.files.read("dev", path, path.name).examples)


def _texts(example: Example) -> tuple[str, str]:
    return example.first, example.second or ""


def _number(task: DownstreamTask, example: Example) -> float:
    value = example.value if task.value_range is not None else example.label
    assert value is not None
    return value


def _target_problem(task: DownstreamTask, example: Example) -> str:
    """Return what is wrong with a target; an empty text if nothing is."""
    if task.form == "span":
        start, end = example.answer or (0, 0)
        return "" if 0 <= start < end <= len(example.second or "") else f"its answer is {example.answer}"
    if task.form == "tags":
        words, tags = example.first.split(" "), example.tags
        if len(words) != len(tags):
            return f"{len(tags)} tags of {len(words)} words"
        return "" if all(0 <= tag < len(task.labels) for tag in tags) else f"tags {min(tags)} to {max(tags)}"
    if task.form == "text_pair" or task.method == "minimal_pairs":
        return "" if example.second else "it has no second text"
    if task.value_range is not None:
        low, high = task.value_range
        return "" if example.value is not None and low <= example.value <= high else f"its value is {example.value}"
    return "" if example.label in range(len(task.labels)) else f"its label is {example.label}"
