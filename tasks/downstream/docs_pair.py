"""Does this description belong to this name and signature? Both come from docstrings of one module.

Shortcuts: functions of a module are paired, and each description is combined once with its own signature and once
with the other's. Within each group of four, every description and every signature is thus equally often correct and
incorrect: a model that reads one side alone, or sums features of both sides, is at chance. Descriptions may share
words with names, since matching the two is the task. Measured accuracy on the full documentation corpus with 2000 dev
examples: unigrams and bigrams of both sides 50.0 %, the number of shared words 72 %.
"""

from collections.abc import Iterable, Iterator, Sequence

from tasks.corpora.document import Document
from tasks.documentation.drawing import Group, by_module, draw, in_hashed_order
from tasks.documentation.sentences import first_paragraph
from tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_pair"
OTHER, OWN = 0, 1
SHORTEST_DESCRIPTION = 25  # characters
LONGEST_DESCRIPTION = 300  # characters; longer ones end at a word
LONGEST_SIGNATURE = 200  # characters

Described = tuple[str, str]
"""A description, and the name and signature it describes."""


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of (description, name and signature); raises DataError if the documents give too few."""
    groups = {module: list(_groups(module, _described(found))) for module, found in by_module(documents).items()}
    return draw(NAME, groups, train_count, dev_count)


def _described(documents: Iterable[Document]) -> list[Described]:
    """Return the described functions whose description and signature are unique in the module."""
    found: list[Described] = []
    seen: set[str] = set()
    for document in documents:
        if document.name is None or document.signature is None:
            continue
        description = _shortened(first_paragraph(document.text), LONGEST_DESCRIPTION)
        signature = _shortened(document.name + document.signature, LONGEST_SIGNATURE)
        if len(description) >= SHORTEST_DESCRIPTION and seen.isdisjoint((description, signature)):
            found.append((description, signature))
            seen.update((description, signature))
    return in_hashed_order(found, lambda described: described[1])


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]


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
