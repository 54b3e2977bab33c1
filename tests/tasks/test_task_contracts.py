"""Every task keeps the contracts that a plugin's task is checked by; a wrong one breaks those that it is wrong in."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from steeplechase.tasks.contracts.tasks import CONTRACTS, task_contracts
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.labelled.task import BuildExamples, DownstreamTask, Example, Examples

LARGE = {"mnli", "qqp", "qnli", "blimp", "codah"}
"""Tasks with as many rows, or files, that reading them is slow; their readers have tests of their own."""


@pytest.fixture(scope="module")
def documents(test_documents: list[Document]) -> Callable[[], tuple[Document, ...]]:
    return lambda: tuple(test_documents)


@pytest.mark.parametrize("name", sorted({*task_names()} - LARGE))
def test_every_task_keeps_every_contract(name: str, documents: Callable[[], tuple[Document, ...]]) -> None:
    found = [*task_contracts(find_task(name), documents)]
    assert [each for each in found if each.problem] == []
    if len(found) == 2:
        pytest.skip(found[1].skipped)
    assert len(found) == 1 + len(CONTRACTS)


def wrong(change: Callable[[Examples], Examples], **changes: Any) -> DownstreamTask:
    """Return a task of documents whose examples are changed."""
    task = find_task("docs_pair")

    def build(documents: Sequence[Document], train: int, dev: int) -> Examples:
        assert task.build is not None
        return change(task.build(documents, train, dev))

    return replace(task, **{"build": build, **changes})


def _with_dev(examples: Examples, first: Example) -> Examples:
    return replace(examples, dev=(first, *examples.dev[1:]))


def _as_often_as_called() -> Callable[[Examples], Examples]:
    calls = []

    def change(examples: Examples) -> Examples:
        calls.append(examples)
        return _with_dev(examples, replace(examples.dev[0], first=f"call {len(calls)}"))

    return change


def _last_first(build: BuildExamples) -> BuildExamples:
    return lambda documents, train, dev: build(documents[: len(documents) // 2], train, dev)


def unchanged(examples: Examples) -> Examples:
    return examples


HALF = wrong(unchanged)


def _raises(examples: Examples) -> Examples:
    raise RuntimeError("no such thing\nand more")


FAULTS: dict[str, tuple[DownstreamTask, str, str]] = {
    "label": (
        wrong(lambda each: _with_dev(each, replace(each.dev[0], label=2))),
        "every target is a declared one",
        "its label is 2",
    ),
    "source": (
        wrong(lambda each: _with_dev(each, replace(each.dev[0], source=each.train[0].source))),
        "train and dev share nothing",
        "1 sources are in both train and dev",
    ),
    "example": (
        wrong(lambda each: _with_dev(each, replace(each.train[0], source="another"))),
        "train and dev share nothing",
        "1 examples are in both train and dev",
    ),
    "reading": (
        wrong(_as_often_as_called()),
        "examples are the same in every reading",
        "the examples differ when they are read again",
    ),
    "order": (
        replace(HALF, build=_last_first(HALF.build)) if HALF.build else HALF,
        "examples are the same in every reading",
        "the examples depend on the order of the sources",
    ),
    "error": (wrong(_raises), "its examples", "RuntimeError: no such thing"),
    "metric": (
        wrong(unchanged, metrics=("spelling",)),
        "right answers have the highest score",
        "KeyError: 'spelling'",
    ),
    "labels": (
        wrong(unchanged, labels=()),
        "its declaration fits its form",
        "a task of form pair has its labels by index; it has 0",
    ),
    "chance": (
        wrong(unchanged, chance=50.0),
        "its declaration fits its form",
        "chance is 50; it is the primary metric without reading",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_task_breaks_its_contract(fault: str, documents: Callable[[], tuple[Document, ...]]) -> None:
    task, contract, problem = FAULTS[fault]
    (line,) = (each.problem for each in task_contracts(task, documents) if each.contract == contract)
    assert problem in line


def test_too_few_documents_are_one_broken_contract() -> None:
    found = [*task_contracts(find_task("docs_pair"), tuple)]
    assert "gives 0 train and 0 dev examples" in found[-1].problem
