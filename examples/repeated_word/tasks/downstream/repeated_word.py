"""Was a word of the sentence replaced by the word before it? A task made from the sentences of any corpus of prose.

Each sentence is in the same part twice: as written, and with one word replaced by a copy of its left neighbour.
Shortcuts: both forms have the same length and the same source. A bag of words sees that a word is there twice, which
sentences as written have too; only the order says that the two are neighbours.
"""

import hashlib
from collections.abc import Sequence

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.drawing import by_module, draw, in_hashed_order
from steeplechase.tasks.documentation.sentences import sentences
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "repeated_word"
FEWEST_WORDS = 4
WRITTEN, REPEATED = 0, 1


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of single sentences; raises DataError if the documents give too few."""
    seen: set[str] = set()
    groups = {}
    for module, members in by_module(documents).items():
        texts = dict.fromkeys(text for document in members for text in sentences(document.text))
        pairs = []
        for text in in_hashed_order(list(texts), str):
            changed = with_repeated_word(text)
            if changed is None or {text.lower(), changed.lower()} & seen:
                continue
            seen |= {text.lower(), changed.lower()}
            pairs.append(
                (Example(text, label=WRITTEN, source=module), Example(changed, label=REPEATED, source=module))
            )
        groups[module] = pairs
    return draw(NAME, groups, train_count, dev_count)


def with_repeated_word(text: str) -> str | None:
    """Return the text with one word, chosen by its hash, as its left neighbour; None of texts of few words."""
    words = text.split(" ")
    if len(words) < FEWEST_WORDS:
        return None
    place = 1 + int(hashlib.sha256(text.encode()).hexdigest(), 16) % (len(words) - 1)
    if words[place].lower() == words[place - 1].lower():
        return None
    return " ".join([*words[:place], words[place - 1], *words[place + 1 :]])


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="single",
    labels=("written", "repeated"),
    metrics=("accuracy", "matthews"),
    chance=0.5,
    build=build,
)
