"""Matching of a description with a name and signature; both come from docstrings of one module.

Shortcuts: functions of a module are paired, and each description is combined once with its own signature and once
with the other one. Within each group of four, every description and every signature is correct as often as incorrect,
so a model that reads only one of the texts, or adds features of both, is at chance. Descriptions may share words with
names, because matching the two is the task.
Reference, measured on the full documentation corpus with 2000 dev examples: accuracy 50.0 % by unigrams and bigrams
of both texts, 72 % by the number of shared words.
"""

from collections.abc import Iterable, Iterator, Sequence

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.drawing import Group, by_module, draw, in_hashed_order
from steeplechase.tasks.documentation.sentences import first_paragraph
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_pair"
OTHER, OWN = 0, 1
MIN_DESCRIPTION = 25  # characters
MAX_DESCRIPTION = 300  # characters; longer ones are truncated after a word
MAX_SIGNATURE = 200  # characters

Described = tuple[str, str]
"""A description, and the name and signature that it belongs to."""


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of (description, name and signature); raises DataError if the documents give too few."""
    groups = {module: list(_groups(module, _described(members))) for module, members in by_module(documents).items()}
    return draw(NAME, groups, train_count, dev_count)


def _described(documents: Iterable[Document]) -> list[Described]:
    """Return the functions whose description and signature are unique in the module, in the order of a hash."""
    functions: list[Described] = []
    seen: set[str] = set()
    for document in documents:
        if document.name is None or document.signature is None:
            continue
        description = _truncated(first_paragraph(document.text), MAX_DESCRIPTION)
        signature = _truncated(document.name + document.signature, MAX_SIGNATURE)
        if len(description) >= MIN_DESCRIPTION and seen.isdisjoint((description, signature)):
            functions.append((description, signature))
            seen.update((description, signature))
    return in_hashed_order(functions, lambda described: described[1])


def _truncated(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else text[:max_characters].rsplit(" ", 1)[0]


def _groups(module: str, described: list[Described]) -> Iterator[Group]:
    for (description, signature), (second_description, second_signature) in zip(
        described[::2], described[1::2], strict=False
    ):
        yield (
            Example(description, signature, OWN, source=module),
            Example(second_description, second_signature, OWN, source=module),
            Example(description, second_signature, OTHER, source=module),
            Example(second_description, signature, OTHER, source=module),
        )


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="pair",
    labels=("other", "own"),
    metrics=("accuracy", "matthews"),
    chance=0.5,
    build=build,
)
