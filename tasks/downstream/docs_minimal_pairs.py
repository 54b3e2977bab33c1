"""Which of two sentences is as it was written? Minimal pairs of prose, in the manner of BLiMP (arXiv 1912.00582).

Made from the sentences of any corpus of prose, so that the method of `blimp` can be used where its data are not. Two
phenomena: `word_order` exchanges two adjacent words, and `agreement` puts a plural form in place of a singular one or
the reverse (is/are, has/have, was/were, does/do, this/these). Shortcuts: of each source as many pairs go from
singular to plural as back, so a scorer of single words is at chance in both phenomena.
Method: zero-shot, by pseudo-log-likelihood; there is no train part. Metric: accuracy of preferring what was written.
"""

from collections.abc import Sequence

from tasks.corpora.document import Document
from tasks.documentation.drawing import Group, by_module, draw, in_hashed_order
from tasks.documentation.sentences import sentences
from tasks.documentation.word_swaps import with_neighbours_swapped
from tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_minimal_pairs"
AGREEMENTS = (("is", "are"), ("has", "have"), ("was", "were"), ("does", "do"), ("this", "these"))


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return minimal pairs for dev; none to train on. Raises DataError if the documents give too few."""
    groups = {}
    seen: set[str] = set()
    for module, found in by_module(documents).items():
        texts = dict.fromkeys(text for document in found for text in sentences(document.text))
        distinct = [text for text in texts if text.lower() not in seen]
        seen.update(text.lower() for text in distinct)
        groups[module] = _groups(module, in_hashed_order(distinct, str))
    return draw(NAME, groups, 0, dev_count)


def _groups(module: str, texts: list[str]) -> list[Group]:
    remaining = dict.fromkeys(texts)
    groups: list[Group] = []
    for singular, plural in AGREEMENTS:
        ones = [text for text in remaining if _has_only(text, singular, plural)]
        others = [text for text in remaining if _has_only(text, plural, singular)]
        for one, other in zip(ones, others, strict=False):
            groups.append((_exchanged(module, one, singular, plural), _exchanged(module, other, plural, singular)))
            del remaining[one], remaining[other]
    swaps = ((text, with_neighbours_swapped(text)) for text in remaining)
    orders: list[Group] = [
        (Example(text, swapped, source=module, group="word_order"),) for text, swapped in swaps if swapped
    ]
    return _alternating(groups, orders)


def _has_only(text: str, word: str, other: str) -> bool:
    """Return whether a word is inside a sentence once, and the other one nowhere."""
    words = text.split(" ")
    return words[1:-1].count(word) == 1 == words.count(word) and other not in words


def _exchanged(module: str, text: str, word: str, other: str) -> Example:
    words = text.split(" ")
    place = words.index(word)
    return Example(text, " ".join([*words[:place], other, *words[place + 1 :]]), source=module, group="agreement")


def _alternating(some: list[Group], others: list[Group]) -> list[Group]:
    """Return two lists merged turn by turn, the longer one's rest at the end."""
    turns = max(len(some), len(others))
    return [group for turn in range(turns) for each in (some, others) for group in each[turn : turn + 1]]


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="pair",
    labels=(),
    metrics=("accuracy",),
    chance=0.5,
    build=build,
    method="minimal_pairs",
)
