"""Contracts of corpora: the kinds here and the example keep them, and each catches the corpus that breaks it."""

import itertools
from collections.abc import Generator
from typing import Any, Literal

import pytest

from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import JsonValue, options_of
from steeplechase.tasks.contracts.corpora import CONTRACTS, corpus_contracts
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.corpora.planted import PlantedCycle, PlantedPairs, made_up_words
from steeplechase.tasks.progress import Progress

WORDS = made_up_words(400)
CALLS = itertools.count()


def text_of(number: int) -> str:
    """Return a text unlike those of other numbers."""
    return " ".join(stream(number, "text").choice(WORDS, 120).tolist())


class Kept(CorpusOption):
    """A corpus that keeps every contract; those below change one thing."""

    kind: Literal["kept"] = "kept"

    def inputs(self) -> JsonValue:
        return {"kind": self.kind}

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        for number in range(100):
            yield Document(f"source {number}", text_of(number))
        return 0


class WithPath(Kept):
    def inputs(self) -> JsonValue:
        return {"files": ["/home/someone/text.txt"]}


class Counting(Kept):
    def inputs(self) -> JsonValue:
        return next(CALLS)


class Unseen(Kept):
    examples = ({}, {"more": 1})
    more: int = 0

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        for number in range(100 + self.more):
            yield Document(f"source {number}", text_of(number))
        return 0


class Random(Kept):
    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        yield Document("one", text_of(next(CALLS)))
        return 0


class Blank(Kept):
    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        yield Document("one", "  ")
        return 0


class Plain(Kept):
    def documents(self, progress: Progress) -> Generator[Document, None, Any]:
        yield from super().documents(progress)


class Needy(Kept):
    path: str


@pytest.mark.parametrize("kind", [Kept, PlantedCycle, PlantedPairs])
def test_these_keep_every_contract(kind: type[CorpusOption]) -> None:
    found = [*corpus_contracts(kind)]
    assert [outcome for outcome in found if outcome.problem] == []
    assert len(found) == len(CONTRACTS) * len(kind.examples)


@pytest.mark.parametrize(
    ("kind", "contract", "problem"),
    [
        (WithPath, "its identity is repeated and has no path", "the path '/home/someone/text.txt'"),
        (Counting, "its identity is repeated and has no path", "two equal declarations differ"),
        (Unseen, "its identity follows its settings", "which has other documents"),
        (Random, "documents are the same in every reading", "when read again"),
        (Blank, "documents have a source and a text", "document 0 has no text"),
        (Plain, "reading ends with the number of unreadable sources", "documents() returns None"),
        (Random, "its three splits are large enough", "the corpus is too small"),
        (Needy, "its examples are settings", "validation error"),
    ],
)
def test_each_contract_catches_what_breaks_it(kind: type[CorpusOption], contract: str, problem: str) -> None:
    broken = {outcome.contract: outcome.problem for outcome in corpus_contracts(kind) if outcome.problem}
    assert problem in broken[contract]


def test_every_kind_is_found_by_its_file() -> None:
    found = {option.model_fields["kind"].default for option in options_of(CorpusOption)}
    assert found == {
        "documentation",
        "huggingface",
        "planted_cycle",
        "planted_pairs",
        "planted_period",
        "text_files",
        "text_lines",
    }
