"""Grammatical acceptability of docstring sentences: original or corrupted? After CoLA (arXiv 1805.12471).

Each group has two sentences of one module, each in its original and a corrupted form. A corruption is one of three:
in both sentences a function word and the adjacent content word are swapped; a function word of one sentence and a
content word of the other are swapped; or "is" in one and "are" in the other (has/have, was/were, does/do, this/these)
are swapped.
Shortcuts: within a group the corrupted sentences have the same words in total, and the same lengths, as the
originals, so words, lengths and modules are uninformative about the label; only word order is informative. Capitals
and punctuation stay in place: only lower-case words between the first and the last are swapped.
Reference, measured on the full documentation corpus with 8000 train and 2000 dev examples: logistic regression has a
Matthews correlation of about 2 (chance) on unigrams and of about 27 on unigrams and bigrams, which see word order.
"""

import zlib
from collections.abc import Iterator, Sequence
from itertools import product

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.prose import FUNCTION_WORDS
from steeplechase.tasks.documentation.drawing import Group, draw, sentences_by_module
from steeplechase.tasks.documentation.sentences import AGREEMENTS, MOVABLE
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_acceptability"
BROKEN, WRITTEN = 0, 1

Words = list[str]
Pair = tuple[Words, Words]


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of single sentences; raises DataError if the documents give too few."""
    groups = {module: list(_groups(module, texts)) for module, texts in sentences_by_module(documents).items()}
    return draw(NAME, groups, train_count, dev_count)


def _groups(module: str, texts: list[str]) -> Iterator[Group]:
    remaining = [text.split(" ") for text in texts]
    for pair, corrupted in _agreement_errors(remaining):
        yield _group(module, pair, corrupted)
    for index, pair in enumerate(zip(remaining[::2], remaining[1::2], strict=False)):
        swapped = _with_neighbours_swapped(pair) if index % 2 else _with_words_exchanged(pair)
        if swapped is not None:
            yield _group(module, pair, swapped)


def _group(module: str, pair: Pair, corrupted: Pair) -> Group:
    labelled = [*((words, WRITTEN) for words in pair), *((words, BROKEN) for words in corrupted)]
    return tuple(Example(" ".join(words), label=label, source=module) for words, label in labelled)


def _agreement_errors(remaining: list[Words]) -> Iterator[tuple[Pair, Pair]]:
    """Yield pairs that exchange a singular and a plural form, and their corrupted forms.

    The pairs are removed from `remaining`; they are at most half of it.
    """
    pairs_left = len(remaining) // 4
    for singular, plural in AGREEMENTS:
        with_singular = [words for words in remaining if singular in words[1:-1] and plural not in words]
        with_plural = [words for words in remaining if plural in words[1:-1] and singular not in words]
        for one, other in zip(with_singular, with_plural, strict=False):
            if pairs_left == 0:
                return
            pairs_left -= 1
            remaining.remove(one)
            remaining.remove(other)
            positions = (one.index(singular, 1), other.index(plural, 1))
            yield (one, other), _exchange((one, other), positions)


def _exchange(pair: Pair, positions: tuple[int, int]) -> Pair:
    """Return the pair with the words at the positions of each sentence exchanged."""
    first, second = list(pair[0]), list(pair[1])
    first[positions[0]], second[positions[1]] = second[positions[1]], first[positions[0]]
    return first, second


def _movable(words: Words) -> list[int]:
    """Return the positions of lower-case words between the first and the last word."""
    return [index for index in range(1, len(words) - 1) if MOVABLE.fullmatch(words[index])]


def _with_words_exchanged(pair: Pair) -> Pair | None:
    """Return the pair with a function word of one sentence and a content word of the other exchanged.

    None if no such words exist.
    """
    choices = [
        positions
        for positions in product(_movable(pair[0]), _movable(pair[1]))
        if (pair[0][positions[0]] in FUNCTION_WORDS) != (pair[1][positions[1]] in FUNCTION_WORDS)
    ]
    return _exchange(pair, _chosen(choices, pair)) if choices else None


def _with_neighbours_swapped(pair: Pair) -> Pair | None:
    """Return the pair with a function word and an adjacent content word swapped in each, or None."""
    first, second = map(_swapped, pair)
    return None if first is None or second is None else (first, second)


def _swapped(words: Words) -> Words | None:
    movable = set(_movable(words))
    choices = [
        (index, index + 1)
        for index in sorted(movable)
        if index + 1 in movable and (words[index] in FUNCTION_WORDS) != (words[index + 1] in FUNCTION_WORDS)
    ]
    if not choices:
        return None
    left, right = _chosen(choices, (words, []))
    return [*words[:left], words[right], words[left], *words[right + 1 :]]


def _chosen(choices: list[tuple[int, int]], pair: Pair) -> tuple[int, int]:
    """Return one of the choices, by a hash of the choice and the pair."""
    text = " ".join([*pair[0], *pair[1]])
    return min(choices, key=lambda choice: zlib.crc32(f"{choice}:{text}".encode()))


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="single",
    labels=("broken", "written"),
    metrics=("matthews", "accuracy"),
    chance=0.0,
    build=build,
)
