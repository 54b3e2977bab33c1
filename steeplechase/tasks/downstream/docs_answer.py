"""Extractive question answering on docstrings: which span describes a parameter? After SQuAD (arXiv 1606.05250).

A context is two or more adjacent parameter entries of one docstring, in numpy, Google or Sphinx style, with one
question, the name, for each of its parameters.
Shortcuts: a context has as many answers as parameters, so a model that ignores the name can only guess by position.
A name that also occurs in another description is still a question; its answer is the entry of that name. Modules with
few contexts use contexts of more than two entries again, without their first entry.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.drawing import Group, by_module, draw, in_hashed_order
from steeplechase.tasks.documentation.parameters import Parameter, parameters
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_answer"
MAX_CONTEXT = 500  # characters; with the name, most contexts fit 128 tokens
MIN_PARAMETERS = 2
MAX_PARAMETERS = 6
MIN_DESCRIPTION = 12  # characters
MAX_DESCRIPTION = 250  # characters


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of (name, context, span); raises DataError if the documents give too few."""
    groups = {}
    seen: set[str] = set()
    for module, members in by_module(documents).items():
        disjoint = _distinct((run for document in members for run in _runs(document)), seen)
        overlapping = _distinct((run[1:] for run in disjoint if len(run) > MIN_PARAMETERS), seen)
        groups[module] = [_group(run) for run in (*disjoint, *overlapping)]
    return draw(NAME, groups, train_count, dev_count)


@dataclass(frozen=True, slots=True)
class _Entry:
    document: Document
    parameter: Parameter


_Run = list[_Entry]
"""Adjacent entries of one docstring that form a context."""


def _runs(document: Document) -> Iterator[_Run]:
    """Yield runs of two to six adjacent entries that fit a context; an entry that is too long or short ends a run."""
    run: _Run = []
    for parameter in parameters(document.text):
        usable = MIN_DESCRIPTION <= parameter.end - parameter.start <= MAX_DESCRIPTION
        if run and not (usable and _fits(run, parameter)):
            if len(run) >= MIN_PARAMETERS:
                yield run
            run = []
        if usable:
            run = [*run, _Entry(document, parameter)]
    if len(run) >= MIN_PARAMETERS:
        yield run


def _fits(run: _Run, parameter: Parameter) -> bool:
    return (
        len(run) < MAX_PARAMETERS
        and parameter.end - run[0].parameter.entry <= MAX_CONTEXT
        and parameter.name not in {entry.parameter.name for entry in run}
    )


def _distinct(runs: Iterable[_Run], seen: set[str]) -> list[_Run]:
    """Return the runs whose contexts are not in `seen`, in the order of a hash, and add their contexts to `seen`."""
    by_context = {_context(run): run for run in runs}
    new = [context for context in by_context if context not in seen]
    seen.update(new)
    return [by_context[context] for context in in_hashed_order(new, str)]


def _context(run: _Run) -> str:
    return run[0].document.text[run[0].parameter.entry : run[-1].parameter.end]


def _group(run: _Run) -> Group:
    start = run[0].parameter.entry
    return tuple(
        Example(
            entry.parameter.name,
            _context(run),
            answer=(entry.parameter.start - start, entry.parameter.end - start),
            source=entry.document.source,
        )
        for entry in run
    )


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="span",
    labels=(),
    metrics=("f1", "exact_match"),
    chance=0.48,  # measured: F1 of a random entry of the context
    build=build,
)
