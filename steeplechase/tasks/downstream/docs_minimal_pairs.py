"""Minimal pairs of prose: original and corrupted sentences, after BLiMP (arXiv 1912.00582).

Built from the sentences of any corpus of prose, for use without the data of `blimp`. Two phenomena: `word_order`
swaps two adjacent words, and `agreement` replaces a singular by a plural form or the reverse (is/are, has/have,
was/were, does/do, this/these).
Shortcuts: from each source, as many pairs replace singular by plural as plural by singular, so a unigram model is at
chance in both phenomena.
Method: zero-shot, by pseudo-log-likelihood; there is no train part. Metric: accuracy of preferring the original.
"""

from collections.abc import Sequence

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.drawing import Group, draw, sentences_by_module
from steeplechase.tasks.documentation.sentences import AGREEMENTS, with_neighbours_swapped
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_minimal_pairs"


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return minimal pairs for dev; there is no train part. Raises DataError if the documents give too few."""
    groups = {module: _groups(module, texts) for module, texts in sentences_by_module(documents).items()}
    return draw(NAME, groups, 0, dev_count)


def _groups(module: str, texts: list[str]) -> list[Group]:
    remaining = dict.fromkeys(texts)
    groups: list[Group] = []
    for singular, plural in AGREEMENTS:
        with_singular = [text for text in remaining if _has_only(text, singular, plural)]
        with_plural = [text for text in remaining if _has_only(text, plural, singular)]
        for one, other in zip(with_singular, with_plural, strict=False):
            groups.append((_replaced(module, one, singular, plural), _replaced(module, other, plural, singular)))
            del remaining[one], remaining[other]
    swaps = ((text, with_neighbours_swapped(text)) for text in remaining)
    swapped_groups: list[Group] = [
        (Example(text, swapped, source=module, group="word_order"),) for text, swapped in swaps if swapped
    ]
    return _interleaved(groups, swapped_groups)


def _has_only(text: str, word: str, other: str) -> bool:
    """Return whether `word` occurs once, neither first nor last, and `other` does not occur."""
    words = text.split(" ")
    return words[1:-1].count(word) == 1 == words.count(word) and other not in words


def _replaced(module: str, text: str, word: str, other: str) -> Example:
    words = text.split(" ")
    position = words.index(word)
    return Example(
        text, " ".join([*words[:position], other, *words[position + 1 :]]), source=module, group="agreement"
    )


def _interleaved(first: list[Group], second: list[Group]) -> list[Group]:
    """Return two lists merged alternately; the rest of the longer one is at the end."""
    longest = max(len(first), len(second))
    return [group for index in range(longest) for groups in (first, second) for group in groups[index : index + 1]]


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
