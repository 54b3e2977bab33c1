"""Bigram shift: were two adjacent words of a sentence swapped? Conneau et al. 2018 (arXiv 1805.01070).

Built from the sentences of any corpus of prose. Each sentence is in the same part twice: in its original form, and
with two adjacent words swapped (`tasks/documentation/sentences.py`).
Shortcuts: both forms have the same words and the same length, so words, lengths and sources are uninformative about
the label; only word order is informative. The references, a bag of bigrams and an n-gram model of the pretraining
text, contain word order.
"""

from collections.abc import Sequence

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.drawing import draw, sentences_by_module
from steeplechase.tasks.documentation.sentences import with_neighbours_swapped
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "word_order"
SWAPPED, WRITTEN = 0, 1


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of single sentences; raises DataError if the documents give too few."""
    seen: set[str] = set()
    groups = {}
    for module, texts in sentences_by_module(documents).items():
        seen.update(text.lower() for text in texts)
        groups[module] = [
            (Example(text, label=WRITTEN, source=module), Example(swapped, label=SWAPPED, source=module))
            for text, swapped in ((text, with_neighbours_swapped(text)) for text in texts)
            if swapped is not None and swapped.lower() not in seen
        ]
    return draw(NAME, groups, train_count, dev_count)


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="single",
    labels=("swapped", "written"),
    metrics=("accuracy", "matthews"),
    chance=0.5,
    build=build,
    ngram_reference=True,
)
